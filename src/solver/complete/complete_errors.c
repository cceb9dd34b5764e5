/* Completion errors: at entry sets, or at nonzeros that are held out. */
#include "solver/complete/complete_errors.h"

#include <string.h>

static amped_status held_errors(const amped_context *context, const amped_row_fit *fit,
                                double least, double most, amped_entry_errors *out) {
  const amped_worker *worker = context->worker;
  amped_status status =
      worker->format->row_fit->errors(worker->tensor, 0, true, fit, least, most, &out->all);
  AMPED_TRY(amped_comm_agree(context->comm, status));
  amped_errors_sum(context->comm, &out->all);
  return AMPED_OK;
}

/* Convert errors from units of values in memory to the values' own units. */
static void give_units(amped_value_map map, amped_entry_errors *e) {
  e->all = amped_complete_errors_of(map, &e->all);
  e->cold = amped_complete_errors_of(map, &e->cold);
}

amped_status amped_complete_errors_find(const amped_context *context,
                                        const amped_complete_problem *p, const amped_row_fit *fit,
                                        amped_complete_errors *out) {
  const amped_value_map map = context->plan->map;
  const double least = amped_value_map_to(map, p->least);
  const double most = amped_value_map_to(map, p->most);
  memset(out, 0, sizeof *out);
  if (p->validate != NULL)
    AMPED_TRY(amped_entry_set_errors(context, p->validate, fit, least, most, &out->validate));
  else if (p->held > 0)
    AMPED_TRY(held_errors(context, fit, least, most, &out->validate));
  if (p->test != NULL)
    AMPED_TRY(amped_entry_set_errors(context, p->test, fit, least, most, &out->test));
  give_units(map, &out->validate);
  give_units(map, &out->test);
  return AMPED_OK;
}
