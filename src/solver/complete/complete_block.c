/* Completion by blocks of columns: block fits, block after block; ALS if one block has all
 * columns. */
#include "solver/complete/complete_block.h"

#include "base/mem.h"
#include "base/timer.h"
#include "base/trace.h"
#include "factor/row_reduce.h"
#include "solver/complete/complete_als.h"

/* CCD++ is over-relaxed: an entry oversteps its solution by this share of its step, except in
 * nonnegative modes (docs/decisions/050-columns-beside-the-factors.md). */
#define OVERSTEP 0.6

typedef struct blocks {
  void *als; /* ALS, if a block has all columns; plan and later members are unset then */
  const amped_context *context;
  int components, width;
  amped_plan plan;       /* the context's plan, with rows of columns (block_fit.h) */
  amped_worker worker;   /* the context's worker, with the columns as factor set */
  amped_context columns; /* context with this plan and worker */
  amped_block_fit *fit;
  amped_row_reduce *reduce; /* row reduce of equations of `width` columns */
  amped_row_reduce *last;   /* row reduce for the last block, if it has fewer columns */

  amped_row_fit problem;   /* fit of the current mode */
  int count;               /* number of current columns */
  amped_row_fit_sums sums; /* sums of the current mode */
  double solve_sec;        /* seconds for shared rows in the current sweep */
  amped_status own;        /* this rank's first failure on which the ranks have not agreed yet */
} blocks;

/* --- the loop --------------------------------------------------------------------------------- */

static amped_status begin_rows(void *self, int mode);
static amped_status wait_rows(void *self, int mode, int part, amped_mttkrp_times *times);
static amped_status reduce_rows(void *self, int mode);
static void take(blocks *b, int first, int count, amped_mode_times *times);

/* A sweep, function by function, for each block of columns:
 *   take               residuals without the block's columns, which become the targets.
 *   amped_mode_update  of each free mode: begin_rows solves for the block's entries of own rows,
 *                      reduce_rows for rows that several ranks share, and sends the new entries.
 * Collective; the status is agreed. */
static amped_status sweep(void *self, const amped_row_fit *fit, const amped_complete_modes *modes,
                          amped_complete_sums *sums, amped_mode_times *times) {
  blocks *b = self;
  const amped_row_update update = {
      .work = {.begin = begin_rows, .wait = wait_rows, .reduce = reduce_rows, .self = b},
      .self = b};
  double penalty = 0.0;
  double unsure = 0.0;
  if (b->als != NULL)
    return amped_complete_als.sweep(b->als, fit, modes, sums, times);
  b->problem = *fit;
  b->solve_sec = 0.0;
  for (int first = 0; first < b->components; first += b->width) {
    const int left = b->components - first;
    take(b, first, left < b->width ? left : b->width, times);
    for (int k = 0; k < modes->count; k++) {
      b->sums = (amped_row_fit_sums){.count = 0};
      b->problem.nonnegative = (modes->nonnegative >> modes->order[k] & 1) != 0;
      b->problem.overstep = b->width == 1 && !b->problem.nonnegative ? OVERSTEP : 0.0;
      b->own = amped_mode_update(&b->columns, modes->order[k], b->own, &update, times);
      penalty += b->sums.penalty;
      unsure += (double)b->sums.unsure;
    }
  }
  take(b, 0, 0, times);
  times->exchange -= b->solve_sec; /* mode_update counts all of reduce as exchange */
  times->solve += b->solve_sec;
  double all[] = {b->sums.count, unsure, b->sums.squares, penalty};
  AMPED_TRY(amped_comm_sum_agreed(b->context->comm, b->own, all, 4));
  *sums = (amped_complete_sums){
      .count = all[0], .unsure = (uint64_t)all[1], .squares = all[2], .objective = all[2] + all[3]};
  return AMPED_OK;
}

static const amped_block_fit_ops *ops_of(const blocks *b) {
  return b->context->worker->format->block_fit;
}

static int components_of(const amped_plan *plan, bool biased) {
  return plan->ncomps - (biased ? 1 : 0);
}

/* Returns the plan with rows of a block's columns. Its arrays are borrowed. */
static amped_plan columns_plan(const amped_plan *plan, int width) {
  amped_plan out = *plan;
  amped_plan_set_ncomps(&out, amped_block_row_length(width));
  return out;
}

/* --- the work over nonzeros ------------------------------------------------------------------- */

static amped_status begin_rows(void *self, int mode) {
  blocks *b = self;
  return ops_of(b)->begin(b->fit, mode, &b->problem);
}

static amped_status wait_rows(void *self, int mode, int part, amped_mttkrp_times *times) {
  blocks *b = self;
  return ops_of(b)->wait(b->fit, mode, part, times, &b->sums);
}

/* Sum the equations of shared rows, which have nonzeros on several ranks, on their owners. The
 * owners solve them. */
static amped_status reduce_rows(void *self, int mode) {
  blocks *b = self;
  if (b->plan.modes[mode].copy.split_count == 0)
    return AMPED_OK;
  amped_status status = amped_row_reduce_sum(b->count == b->width ? b->reduce : b->last, mode);
  const double began = amped_time();
  amped_trace_begin(AMPED_PHASE_SOLVE, mode);
  AMPED_NEXT(status, ops_of(b)->solve_shared(b->fit, mode, &b->sums));
  amped_trace_end();
  b->solve_sec += amped_time() - began;
  return status;
}

static amped_status get_rows(void *self, int mode, uint64_t row, uint64_t count, double *rows) {
  blocks *b = self;
  return ops_of(b)->get_equations(b->fit, mode, row, count, rows);
}

static amped_status put_rows(void *self, int mode, uint64_t row, uint64_t count,
                             const double *rows) {
  blocks *b = self;
  return ops_of(b)->put_equations(b->fit, mode, row, count, rows);
}

/* --- life ------------------------------------------------------------------------------------- */

static void require(const amped_comm *comm, const amped_worker *worker, const amped_plan *plan,
                    const amped_complete_options *options, bool biased, uint64_t *device_bytes,
                    uint64_t *host_bytes) {
  uint64_t device = 0;
  uint64_t host = 0;
  amped_complete_als.require(comm, worker, plan, options, biased, device_bytes, host_bytes);
  if (components_of(plan, biased) <= options->block)
    return;
  const amped_plan columns = columns_plan(plan, options->block);
  worker->backend->factors->require(worker->device, &columns, &device, &host);
  *device_bytes += device;
  *host_bytes += host;
  worker->format->block_fit->require(worker->device, plan, options->block, &device, &host);
  *device_bytes += device;
  *host_bytes +=
      sizeof(blocks) + host + amped_exchange_host_bytes(comm, worker, &columns) +
      2 * amped_row_reduce_host_bytes(plan, amped_equation_length(options->block, biased));
}

static void destroy(void *self) {
  blocks *b = self;
  if (b == NULL)
    return;
  amped_complete_als.destroy(b->als);
  amped_row_reduce_destroy(b->reduce);
  amped_row_reduce_destroy(b->last);
  amped_exchange_destroy(b->columns.exchange);
  if (b->fit != NULL)
    ops_of(b)->destroy(b->fit);
  if (b->worker.factors != NULL)
    b->worker.backend->factors->destroy(b->worker.factors);
  amped_free(b);
}

static amped_status make_reduce(blocks *b, int count, bool biased, amped_row_reduce **out) {
  const amped_result_rows rows = {
      .length = amped_equation_length(count, biased), .get = get_rows, .put = put_rows, .self = b};
  return count > 0 ? amped_row_reduce_create(b->context->comm, &b->plan, &rows, out) : AMPED_OK;
}

/* Make everything except the exchange, which is made collectively. */
static amped_status make(const amped_context *context, int width, bool biased, blocks **out) {
  AMPED_TRY(amped_calloc(out, 1, sizeof **out, "blocks"));
  blocks *b = *out;
  b->context = context;
  b->components = components_of(context->plan, biased);
  b->width = width;
  if (b->components <= width)
    return AMPED_OK;
  b->plan = columns_plan(context->plan, width);
  b->worker = *context->worker;
  b->worker.factors = NULL;
  b->columns = (amped_context){context->comm, &b->plan, &b->worker, NULL};
  AMPED_TRY(b->worker.backend->factors->create(b->worker.device, &b->plan, &b->worker.factors));
  AMPED_TRY(ops_of(b)->create(b->worker.tensor, b->worker.factors, &b->plan, width, &b->fit));
  AMPED_TRY(make_reduce(b, width, biased, &b->reduce));
  return make_reduce(b, b->components % width, biased, &b->last);
}

static amped_status create(const amped_context *context, const amped_complete_options *options,
                           const amped_row_fit *fit, void **out) {
  blocks *b = NULL;
  amped_status status = make(context, options->block, fit->biased, &b);
  *out = NULL;
  status = amped_comm_agree(context->comm, status);
  if (status == AMPED_OK && b->components <= b->width)
    status = amped_complete_als.create(context, options, fit, &b->als);
  else if (status == AMPED_OK)
    status = amped_exchange_create(context->comm, &b->worker, &b->plan, &b->columns.exchange);
  if (status == AMPED_OK)
    *out = b;
  else
    destroy(b);
  return status;
}

/* --- parts of a sweep ------------------------------------------------------------------------- */

/* Select columns first .. first + count as the current block. The last block may be narrower. */
static void take(blocks *b, int first, int count, amped_mode_times *times) {
  const double began = amped_time();
  AMPED_NEXT(b->own, ops_of(b)->take(b->fit, b->problem.biased, first, count));
  b->count = count;
  times->solve += amped_time() - began;
}

const amped_complete_method amped_complete_block = {
    .name = "blocks", .require = require, .create = create, .destroy = destroy, .sweep = sweep};
