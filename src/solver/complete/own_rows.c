/* Own rows: a store with a row for every place of this rank's block. */
#include "solver/complete/own_rows.h"

#include <string.h>

#include "base/mem.h"
#include "solver/complete/complete_als.h"

static const char what[] = "normal equations of rows";

uint64_t amped_own_rows_equations(const amped_plan *plan, bool biased) {
  return amped_equation_length(plan->ncomps - (biased ? 1 : 0), biased);
}

static uint64_t most_block_rows(const amped_plan *plan) {
  uint64_t most = 0;
  for (int m = 0; m < plan->order; m++)
    most = plan->modes[m].rows.block_rows > most ? plan->modes[m].rows.block_rows : most;
  return most;
}

/* The shape of the store, and the number of its rows in each mode (dims). */
static amped_row_shape shape_of(const amped_plan *plan, uint64_t length, uint64_t *dims) {
  for (int m = 0; m < plan->order; m++)
    dims[m] = plan->modes[m].rows.block_rows;
  return (amped_row_shape){.order = plan->order,
                           .ncomps = (uint64_t)plan->ncomps,
                           .length = length,
                           .type = plan->value_type,
                           .nranks = 1};
}

void amped_own_rows_require(const amped_worker *worker, const amped_plan *plan, uint64_t length,
                            uint64_t *device_bytes, uint64_t *host_bytes) {
  uint64_t dims[AMPED_MAX_ORDER];
  uint64_t device = 0;
  uint64_t host = 0;
  const amped_row_shape shape = shape_of(plan, length, dims);
  worker->backend->row_stores->require(&shape, dims, false, &device, &host);
  *device_bytes += device;
  *host_bytes += host + most_block_rows(plan) * sizeof(uint64_t);
  for (int m = 0; m < plan->order; m++)
    *host_bytes += dims[m] * sizeof(uint64_t);
}

amped_status amped_own_rows_create(const amped_context *context, uint64_t length,
                                   amped_own_rows *out) {
  const amped_plan *plan = context->plan;
  const uint64_t most = most_block_rows(plan);
  uint64_t dims[AMPED_MAX_ORDER];
  amped_row_list lists[AMPED_MAX_ORDER];
  const amped_row_shape shape = shape_of(plan, length, dims);
  *out = (amped_own_rows){.ops = context->worker->backend->row_stores};
  AMPED_TRY(amped_alloc(&out->places, most, sizeof *out->places, what));
  for (uint64_t i = 0; i < most; i++)
    out->places[i] = i;
  for (int m = 0; m < plan->order; m++) {
    AMPED_TRY(amped_alloc(&out->positions[m], dims[m], sizeof *out->positions[m], what));
    for (uint64_t i = 0; i < dims[m]; i++)
      out->positions[m][i] = (uint64_t)plan->rank * dims[m] + i;
    lists[m] = (amped_row_list){dims[m], out->places, out->positions[m]};
  }
  AMPED_TRY(out->ops->create(context->worker->device, &shape, dims, &out->store));
  return out->ops->begin(out->store, plan, lists);
}

void amped_own_rows_free(amped_own_rows *rows) {
  if (rows->ops != NULL)
    rows->ops->destroy(rows->store);
  for (int m = 0; m < AMPED_MAX_ORDER; m++)
    amped_free(rows->positions[m]);
  amped_free(rows->places);
  memset(rows, 0, sizeof *rows);
}

amped_status amped_own_rows_histories(const amped_own_rows *rows, const amped_plan *plan,
                                      amped_row_history out[AMPED_MAX_ORDER]) {
  for (int m = 0; m < plan->order; m++)
    AMPED_TRY(rows->ops->history(rows->store, m, 1, 1.0, &out[m]));
  return AMPED_OK;
}

amped_status amped_own_rows_absorb(const amped_own_rows *rows, const amped_context *context,
                                   const amped_complete_options *options,
                                   const amped_row_fit *asked) {
  amped_row_fit fit = *asked;
  amped_mode_times times = {0.0, 0.0, 0.0, 0.0, 0.0};
  amped_row_history histories[AMPED_MAX_ORDER];
  amped_status status = AMPED_OK;
  void *als = NULL;
  AMPED_TRY(
      amped_comm_agree(context->comm, amped_own_rows_histories(rows, context->plan, histories)));
  AMPED_TRY(amped_complete_als.create(context, options, &fit, &als));
  fit.absorb = true;
  for (int m = 0; m < context->plan->order; m++) {
    double solve_sec = 0.0;
    fit.history = &histories[m];
    AMPED_ALSO(status, amped_complete_als.update(als, &fit, m, &times, &solve_sec));
  }
  amped_complete_als.destroy(als);
  return amped_comm_agree(context->comm, status);
}
