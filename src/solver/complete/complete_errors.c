/* Completion errors: at entry sets, or at nonzeros that are held out. */
#include "solver/complete/complete_errors.h"

#include <math.h>
#include <string.h>

/* Errors at the entries of `all` without `part`, which are some of them. */
static amped_errors errors_without(const amped_errors *all, const amped_errors *part) {
  return (amped_errors){.count = all->count - part->count,
                        .squares = fmax(all->squares - part->squares, 0.0),
                        .absolute = fmax(all->absolute - part->absolute, 0.0),
                        .clipped = fmax(all->clipped - part->clipped, 0.0)};
}

/* Sum the errors at held-out nonzeros. In unlearnt ones the mean stands for the rows of the pass
 * over nonzeros. */
static amped_status held_errors(const amped_context *context, const amped_complete_problem *p,
                                const amped_row_fit *fit, const amped_mean_rows *means,
                                double least, double most, amped_entry_errors *out) {
  const amped_worker *worker = context->worker;
  amped_status status =
      worker->format->row_fit->errors(worker->tensor, 0, true, fit, least, most, &out->all);
  AMPED_TRY(amped_comm_agree(context->comm, status));
  amped_errors_sum(context->comm, &out->all);
  if (p->unlearnt == NULL)
    return AMPED_OK;
  amped_entry_errors as_fitted;
  amped_entry_errors as_predicted;
  AMPED_TRY(
      amped_entry_set_errors(context, p->unlearnt, fit, &p->fixed, NULL, least, most, &as_fitted));
  AMPED_TRY(amped_entry_set_errors(context, p->unlearnt, fit, &p->fixed, means, least, most,
                                   &as_predicted));
  out->all = errors_without(&out->all, &as_fitted.all);
  out->all.count += as_predicted.all.count;
  out->all.squares += as_predicted.all.squares;
  out->all.absolute += as_predicted.all.absolute;
  out->all.clipped += as_predicted.all.clipped;
  return AMPED_OK;
}

/* Collective; the status is agreed. Find the mean rows that stand for untrained rows of entries. */
static amped_status find_means(const amped_context *context, const amped_complete_problem *p,
                               amped_mean_rows *out) {
  uint64_t asked[AMPED_MAX_ORDER] = {0};
  uint64_t any = 0;
  memset(out, 0, sizeof *out);
  for (int m = 0; m < context->plan->order; m++) {
    asked[m] = (p->validate != NULL ? p->validate->untrained[m] : 0) +
               (p->test != NULL ? p->test->untrained[m] : 0) +
               (p->unlearnt != NULL ? p->unlearnt->untrained[m] : 0);
    any += asked[m];
  }
  return any > 0 ? amped_mean_rows_find(context, p->counts, &p->fixed, asked, out) : AMPED_OK;
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
  amped_mean_rows means;
  memset(out, 0, sizeof *out);
  amped_status status = find_means(context, p, &means);
  if (status == AMPED_OK && p->validate != NULL)
    status = amped_entry_set_errors(context, p->validate, fit, &p->fixed, &means, least, most,
                                    &out->validate);
  else if (status == AMPED_OK && p->held > 0)
    status = held_errors(context, p, fit, &means, least, most, &out->validate);
  if (status == AMPED_OK && p->test != NULL)
    status =
        amped_entry_set_errors(context, p->test, fit, &p->fixed, &means, least, most, &out->test);
  amped_mean_rows_free(&means);
  give_units(map, &out->validate);
  give_units(map, &out->test);
  return status;
}
