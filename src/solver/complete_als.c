#include "solver/complete_als.h"

#include <string.h>

#include "base/timer.h"
#include "base/trace.h"

static const amped_row_fit_ops *ops_of(const amped_complete_als *a) {
  return a->context->worker->format->row_fit;
}

static int components(const amped_plan *plan, bool biased) {
  return plan->ncomps - (biased ? 1 : 0);
}

/* --- the work over nonzeros ------------------------------------------------------------------ */

static amped_status begin_rows(void *self, int mode) {
  amped_complete_als *a = self;
  return ops_of(a)->begin(a->context->worker->tensor, mode, &a->fit);
}

static amped_status wait_rows(void *self, int mode, int part, amped_mttkrp_times *times) {
  amped_complete_als *a = self;
  return ops_of(a)->wait(a->context->worker->tensor, mode, part, times, &a->sums);
}

/* Equations of rows of which several ranks hold nonzeros become whole on their owners, which solve
 * them. */
static void reduce_rows(void *self, int mode) {
  amped_complete_als *a = self;
  amped_status status = AMPED_OK;
  if (a->context->plan->modes[mode].copy.split_count == 0)
    return;
  status = amped_row_reduce_sum(a->reduce, mode);
  const double began = amped_time();
  amped_trace_begin(AMPED_PHASE_SOLVE, mode);
  if (status == AMPED_OK)
    status = ops_of(a)->solve_shared(a->context->worker->tensor, mode, &a->sums);
  if (status != AMPED_OK) /* other ranks may wait in a collective already */
    amped_comm_abort(a->context->comm, status);
  amped_trace_end();
  a->solve_sec += amped_time() - began;
}

static amped_status get_rows(void *self, int mode, uint64_t row, uint64_t count, double *rows) {
  amped_complete_als *a = self;
  return ops_of(a)->get_equations(a->context->worker->tensor, mode, row, count, rows);
}

static amped_status put_rows(void *self, int mode, uint64_t row, uint64_t count,
                             const double *rows) {
  amped_complete_als *a = self;
  return ops_of(a)->put_equations(a->context->worker->tensor, mode, row, count, rows);
}

/* --- life ------------------------------------------------------------------------------------ */

uint64_t amped_complete_als_host_bytes(const amped_plan *plan, bool biased) {
  return amped_row_reduce_host_bytes(plan, amped_equation_length(components(plan, biased), biased));
}

amped_status amped_complete_als_create(const amped_context *context, const amped_row_fit *fit,
                                       amped_complete_als *out) {
  memset(out, 0, sizeof *out);
  out->context = context;
  out->fit = *fit;
  const amped_result_rows rows = {
      .length = amped_equation_length(components(context->plan, fit->biased), fit->biased),
      .get = get_rows,
      .put = put_rows,
      .self = out};
  return amped_comm_agree(
      context->comm, amped_row_reduce_create(context->comm, context->plan, &rows, &out->reduce));
}

void amped_complete_als_destroy(amped_complete_als *a) {
  amped_row_reduce_destroy(a->reduce);
  memset(a, 0, sizeof *a);
}

/* --- a sweep --------------------------------------------------------------------------------- */

void amped_complete_als_sweep(amped_complete_als *a, const int *order, amped_complete_sums *sums,
                              amped_mode_times *times) {
  const amped_plan *plan = a->context->plan;
  const amped_row_update update = {.work = {begin_rows, wait_rows, reduce_rows, a}, .self = a};
  double penalty = 0.0;
  double unsure = 0.0;
  a->solve_sec = 0.0;
  for (int k = 0; k < plan->order; k++) {
    a->sums = (amped_row_fit_sums){.count = 0};
    amped_status status = amped_mode_update(a->context, order[k], &update, times);
    if (status != AMPED_OK)
      amped_comm_abort(a->context->comm, status);
    penalty += a->sums.penalty;
    unsure += (double)a->sums.unsure;
  }
  times->exchange -= a->solve_sec; /* mode_update counts all of reduce there */
  times->solve += a->solve_sec;
  double all[] = {(double)a->sums.count, unsure, a->sums.squares, penalty};
  amped_comm_sum(a->context->comm, all, 4);
  *sums = (amped_complete_sums){(uint64_t)all[0], (uint64_t)all[1], all[2], all[2] + all[3]};
}
