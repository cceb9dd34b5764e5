/* Completion by ALS: row fits, mode after mode, and gram matrices for implicit fits. */
#include "solver/complete/complete_als.h"

#include <string.h>

#include "base/mem.h"
#include "base/timer.h"
#include "base/trace.h"
#include "factor/row_reduce.h"
#include "solver/normal_equations.h"
#include "solver/unit_model.h"

typedef struct als {
  const amped_context *context;
  amped_row_fit fit;              /* fit of the current mode */
  amped_row_reduce *reduce;       /* row reduce of equations */
  double *grams[AMPED_MAX_ORDER]; /* implicit fits: gram matrices; else NULL */
  double *base;
  amped_row_fit_sums sums; /* sums of the current mode */
  double shared_sec;       /* seconds for solving shared rows in the current mode */
  amped_status own;        /* this rank's first failure on which the ranks have not agreed yet */
} als;

/* --- the loop --------------------------------------------------------------------------------- */

static amped_status find_gram(als *a, int mode, const amped_fixed_modes *fixed);
static void find_base(als *a, int mode);
static void make_rows(als *a, int mode, amped_mode_times *times);

/* A sweep, function by function:
 *   find_gram, find_base  with --implicit: the sum of p p^T over all cells, from grams.
 *   make_rows             of each mode, by amped_mode_update, which calls:
 *     begin_rows          normal equations of own rows, and their solutions.
 *     reduce_rows         sums of the equations of rows that several ranks share.
 * Collective; the status is agreed. */
static amped_status sweep(void *self, const amped_row_fit *fit, const amped_complete_modes *modes,
                          amped_complete_sums *sums, amped_mode_times *times) {
  als *a = self;
  const amped_plan *plan = a->context->plan;
  double penalty = 0.0;
  double unsure = 0.0;
  a->fit = *fit;
  for (int m = 0; m < plan->order && a->base != NULL; m++)
    if (m != modes->order[0])
      AMPED_TRY(find_gram(a, m, modes->fixed));
  for (int k = 0; k < modes->count; k++) {
    if (a->base != NULL && k > 0)
      AMPED_TRY(find_gram(a, modes->order[k - 1], modes->fixed));
    if (a->base != NULL)
      find_base(a, modes->order[k]);
    a->fit.nonnegative = (modes->nonnegative >> modes->order[k] & 1) != 0;
    make_rows(a, modes->order[k], times);
    penalty += a->sums.penalty;
    unsure += (double)a->sums.unsure;
  }
  double all[] = {a->sums.count, unsure, a->sums.squares, penalty};
  AMPED_TRY(amped_comm_sum_agreed(a->context->comm, a->own, all, 4));
  *sums = (amped_complete_sums){
      .count = all[0], .unsure = (uint64_t)all[1], .squares = all[2], .objective = all[2] + all[3]};
  return AMPED_OK;
}

static const amped_row_fit_ops *ops_of(const als *a) {
  return a->context->worker->format->row_fit;
}

static int components(const amped_plan *plan, bool biased) {
  return plan->ncomps - (biased ? 1 : 0);
}

/* --- the work over nonzeros ------------------------------------------------------------------- */

static amped_status begin_rows(void *self, int mode) {
  als *a = self;
  return ops_of(a)->begin(a->context->worker->tensor, mode, &a->fit);
}

static amped_status wait_rows(void *self, int mode, int part, amped_mttkrp_times *times) {
  als *a = self;
  return ops_of(a)->wait(a->context->worker->tensor, mode, part, times, &a->sums);
}

/* Sum the equations of shared rows, which have nonzeros on several ranks, on their owners. The
 * owners solve them. */
static amped_status reduce_rows(void *self, int mode) {
  als *a = self;
  amped_status status = AMPED_OK;
  if (a->context->plan->modes[mode].copy.split_count == 0)
    return AMPED_OK;
  status = amped_row_reduce_sum(a->reduce, mode);
  const double began = amped_time();
  amped_trace_begin(AMPED_PHASE_SOLVE, mode);
  AMPED_NEXT(status, ops_of(a)->solve_shared(a->context->worker->tensor, mode, &a->sums));
  amped_trace_end();
  a->shared_sec += amped_time() - began;
  return status;
}

static amped_status get_rows(void *self, int mode, uint64_t row, uint64_t count, double *rows) {
  als *a = self;
  return ops_of(a)->get_equations(a->context->worker->tensor, mode, row, count, rows);
}

static amped_status put_rows(void *self, int mode, uint64_t row, uint64_t count,
                             const double *rows) {
  als *a = self;
  const double began = amped_time();
  amped_status status =
      ops_of(a)->put_equations(a->context->worker->tensor, mode, row, count, rows);
  a->shared_sec += amped_time() - began; /* put_equations may already solve rows */
  return status;
}

/* --- life ------------------------------------------------------------------------------------- */

static void require(const amped_comm *comm, const amped_worker *worker, const amped_plan *plan,
                    const amped_complete_options *options, bool biased, uint64_t *device_bytes,
                    uint64_t *host_bytes) {
  const uint64_t n = options->implicit > 0.0 ? (uint64_t)plan->ncomps : 0;
  (void)comm;
  (void)worker;
  (void)device_bytes;
  *host_bytes +=
      sizeof(als) + ((uint64_t)plan->order + 1) * n * n * sizeof(double) +
      amped_row_reduce_host_bytes(plan, amped_equation_length(components(plan, biased), biased));
}

static void destroy(void *self) {
  als *a = self;
  if (a == NULL)
    return;
  for (int m = 0; m < AMPED_MAX_ORDER; m++)
    amped_free(a->grams[m]);
  amped_free(a->base);
  amped_row_reduce_destroy(a->reduce);
  amped_free(a);
}

static amped_status make(const amped_context *context, const amped_row_fit *fit, als **out) {
  const uint64_t n = (uint64_t)context->plan->ncomps;
  AMPED_TRY(amped_calloc(out, 1, sizeof **out, "row fits"));
  (*out)->context = context;
  for (int m = 0; m < context->plan->order && fit->implicit > 0.0; m++)
    AMPED_TRY(amped_alloc(&(*out)->grams[m], n * n, sizeof(double), "a gram matrix"));
  if (fit->implicit > 0.0)
    AMPED_TRY(amped_alloc(&(*out)->base, n * n, sizeof(double), "a gram matrix"));
  const amped_result_rows rows = {
      .length = amped_equation_length(components(context->plan, fit->biased), fit->biased),
      .get = get_rows,
      .put = put_rows,
      .self = *out};
  return amped_row_reduce_create(context->comm, context->plan, &rows, &(*out)->reduce);
}

static amped_status create(const amped_context *context, const amped_complete_options *options,
                           const amped_row_fit *fit, void **out) {
  als *a = NULL;
  (void)options;
  *out = NULL;
  amped_status status = amped_comm_agree(context->comm, make(context, fit, &a));
  if (status == AMPED_OK)
    *out = a;
  else
    destroy(a);
  return status;
}

/* --- cells that are not observed -------------------------------------------------------------- */

/* Collective; the status is agreed. Find the gram of mode's factor over all ranks. */
static amped_status find_gram(als *a, int mode, const amped_fixed_modes *fixed) {
  AMPED_TRY(amped_unit_gram(a->context, mode, a->own, a->grams[mode]));
  amped_fixed_modes_add(fixed, mode, a->context->plan->ncomps, a->grams[mode]);
  return AMPED_OK;
}

/* Find the sum of p p^T over all cells: the Hadamard product of the other modes' grams. */
static void find_base(als *a, int mode) {
  const amped_plan *plan = a->context->plan;
  amped_hadamard(plan->order, plan->ncomps, (const double *const *)a->grams, mode, a->base);
  a->fit.base = a->base;
}

/* --- parts of a sweep ------------------------------------------------------------------------- */

static void make_rows(als *a, int mode, amped_mode_times *times) {
  const amped_row_update rows = {
      .work = {.begin = begin_rows, .wait = wait_rows, .reduce = reduce_rows, .self = a},
      .self = a};
  a->sums = (amped_row_fit_sums){.count = 0};
  a->shared_sec = 0.0;
  a->own = amped_mode_update(a->context, mode, a->own, &rows, times);
  times->exchange -= a->shared_sec; /* mode_update counts all of reduce as exchange */
  times->solve += a->shared_sec;
}

static amped_status update(void *self, const amped_row_fit *fit, int mode, amped_mode_times *times,
                           double *solve_sec) {
  als *a = self;
  a->fit = *fit;
  make_rows(a, mode, times);
  *solve_sec = a->sums.solve_sec;
  return a->own;
}

const amped_complete_method amped_complete_als = {.name = "als",
                                                  .require = require,
                                                  .create = create,
                                                  .destroy = destroy,
                                                  .sweep = sweep,
                                                  .update = update};
