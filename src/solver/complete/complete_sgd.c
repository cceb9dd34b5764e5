/* Completion by SGD: epochs of row steps, with the bold driver. */
#include "solver/complete/complete_sgd.h"

#include <limits.h>

#include "base/mem.h"
#include "base/timer.h"
#include "base/trace.h"
#include "factor/row_reduce.h"
#include "solver/complete/complete_als.h"

/* Number of shared rows whose counts are summed per call. */
#define COUNTS UINT64_C(65536)

/* State of the epochs: the numbers of a checkpoint. */
enum { STEP, EPOCH, COUNT, SQUARES, PENALTY, BIAS_PENALTY, REG, NUMBERS };

typedef struct sgd {
  const amped_context *context;
  const amped_row_fit *fit; /* fit of the current pass */
  amped_row_reduce *reduce; /* row reduce of sums of shared rows */
  void *als;                /* makes the first rows */
  uint64_t *counts;         /* [COUNTS] */
  double step;              /* step of the current pass */
  amped_row_step_sums sums; /* sums of the current mode */
  double rows_sec;          /* seconds for shared rows in the current pass */
  amped_status own;         /* this rank's first failure on which the ranks have not agreed yet */
  double numbers[NUMBERS];  /* step of the next epoch, number of epochs; sums over the current
                               factors, and the penalty reg in them */
} sgd;

/* --- the loop --------------------------------------------------------------------------------- */

static const amped_row_step_ops *ops_of(const sgd *g);
static amped_tensor_part *tensor_of(const sgd *g);
static void set_reg(double *n, double reg);
static double objective_of(const double *n);
static amped_status pass(sgd *g, double step, const amped_complete_modes *modes, double *now,
                         amped_mode_times *times);
static amped_status undo(sgd *g, amped_mode_times *times);

/* A sweep is an epoch, function by function:
 *   set_reg  the epoch's penalty.
 *   keep     a copy of own rows.
 *   pass     steps along the gradients of all entries, mode by mode, and the objective after them.
 *   undo     back to the copy, if the objective rose; the next steps are then shorter.
 * Collective; the status is agreed. */
static amped_status sweep(void *self, const amped_row_fit *fit, const amped_complete_modes *modes,
                          amped_complete_sums *sums, amped_mode_times *times) {
  sgd *g = self;
  double now[NUMBERS] = {0.0};
  const double step = g->numbers[STEP];
  const double began = amped_time();
  g->fit = fit;
  set_reg(g->numbers, fit->reg);
  AMPED_NEXT(g->own, ops_of(g)->keep(tensor_of(g)));
  times->solve += amped_time() - began;
  AMPED_TRY(pass(g, step, modes, now, times));
  const bool falls = objective_of(now) <= objective_of(g->numbers);
  if (falls)
    for (int i = COUNT; i < NUMBERS; i++)
      g->numbers[i] = now[i];
  else
    AMPED_TRY(undo(g, times));
  g->numbers[STEP] = step * (falls ? AMPED_SGD_LONGER : AMPED_SGD_SHORTER);
  g->numbers[EPOCH]++;
  *sums = (amped_complete_sums){.count = g->numbers[COUNT],
                                .squares = g->numbers[SQUARES],
                                .objective = objective_of(g->numbers),
                                .step = step,
                                .undone = !falls};
  return AMPED_OK;
}

static const amped_row_step_ops *ops_of(const sgd *g) {
  return g->context->worker->format->row_steps;
}

static amped_tensor_part *tensor_of(const sgd *g) {
  return g->context->worker->tensor;
}

/* --- the work over nonzeros ------------------------------------------------------------------- */

static amped_status begin_rows(void *self, int mode) {
  sgd *g = self;
  return ops_of(g)->begin(tensor_of(g), mode, g->fit, g->step, (uint64_t)g->numbers[EPOCH]);
}

static amped_status wait_rows(void *self, int mode, int part, amped_mttkrp_times *times) {
  sgd *g = self;
  return ops_of(g)->wait(tensor_of(g), mode, part, times, &g->sums);
}

/* Combine results of shared rows, which have nonzeros on several ranks, to new rows on their
 * owners. */
static amped_status reduce_rows(void *self, int mode) {
  sgd *g = self;
  if (g->context->plan->modes[mode].copy.split_count == 0)
    return AMPED_OK;
  const double began = amped_time();
  amped_status status = amped_row_reduce_sum(g->reduce, mode);
  AMPED_NEXT(status, ops_of(g)->finish(tensor_of(g), mode, &g->sums));
  g->rows_sec += amped_time() - began;
  return status;
}

static amped_status get_rows(void *self, int mode, uint64_t row, uint64_t count, double *rows) {
  sgd *g = self;
  return ops_of(g)->get_rows(tensor_of(g), mode, row, count, rows);
}

static amped_status put_rows(void *self, int mode, uint64_t row, uint64_t count,
                             const double *rows) {
  sgd *g = self;
  return ops_of(g)->put_rows(tensor_of(g), mode, row, count, rows);
}

/* --- life ------------------------------------------------------------------------------------- */

static amped_status check(const amped_worker *worker) {
  if (worker->format->row_steps == NULL)
    return amped_error(AMPED_USAGE, NULL,
                       "--method=sgd does not run on --backend=%s; use --method=als, or "
                       "--backend=cpu",
                       worker->backend->name);
  return AMPED_OK;
}

static void require(const amped_comm *comm, const amped_worker *worker, const amped_plan *plan,
                    const amped_complete_options *options, bool biased, uint64_t *device_bytes,
                    uint64_t *host_bytes) {
  uint64_t device = 0;
  uint64_t host = 0;
  worker->format->row_steps->require(worker->device, plan, &device, &host);
  amped_complete_als.require(comm, worker, plan, options, biased, device_bytes, host_bytes);
  *device_bytes += device;
  *host_bytes += host + sizeof(sgd) + COUNTS * sizeof(uint64_t) +
                 amped_row_reduce_host_bytes(plan, amped_step_row_length(plan));
}

static void destroy(void *self) {
  sgd *g = self;
  if (g == NULL)
    return;
  amped_complete_als.destroy(g->als);
  amped_row_reduce_destroy(g->reduce);
  amped_free(g->counts);
  amped_free(g);
}

static amped_status make(const amped_context *context, sgd **out) {
  AMPED_TRY(amped_calloc(out, 1, sizeof **out, "row steps"));
  sgd *g = *out;
  g->context = context;
  AMPED_TRY(amped_alloc(&g->counts, COUNTS, sizeof *g->counts, "row steps"));
  AMPED_TRY(ops_of(g)->prepare(tensor_of(g)));
  const amped_result_rows rows = {
      .length = amped_step_row_length(context->plan), .get = get_rows, .put = put_rows, .self = g};
  return amped_row_reduce_create(context->comm, context->plan, &rows, &g->reduce);
}

static amped_status create(const amped_context *context, const amped_complete_options *options,
                           const amped_row_fit *fit, void **out) {
  sgd *g = NULL;
  *out = NULL;
  amped_status status = amped_comm_agree(context->comm, make(context, &g));
  if (status == AMPED_OK)
    status = amped_complete_als.create(context, options, fit, &g->als);
  if (status == AMPED_OK)
    *out = g;
  else
    destroy(g);
  return status;
}

static double *numbers(void *self) {
  return ((sgd *)self)->numbers;
}

/* --- numbers of nonzeros per row -------------------------------------------------------------- */

/* Get this rank's counts of shared rows first .. first + count; or, if `put`, set the sums over
 * all ranks. Rows are numbered through all split iDps. */
static amped_status pass_counts(sgd *g, int mode, uint64_t first, uint64_t count, bool put) {
  const amped_plan *plan = g->context->plan;
  const amped_copy_plan *copy = &plan->modes[mode].copy;
  uint64_t begin = 0;
  uint64_t end = 0;
  amped_plan_shared_idps(&plan->modes[mode], plan->rank, &begin, &end);
  for (uint64_t s = begin; s < end; s++) {
    const uint64_t from = copy->splits[s].row > first ? copy->splits[s].row : first;
    const uint64_t last = copy->splits[s + 1].row;
    const uint64_t to = last < first + count ? last : first + count;
    const uint64_t row = copy->row[copy->splits[s].idp] + from - copy->splits[s].row;
    if (from >= to)
      continue;
    AMPED_TRY(
        put ? ops_of(g)->put_counts(tensor_of(g), mode, row, to - from, g->counts + (from - first))
            : ops_of(g)->get_counts(tensor_of(g), mode, row, to - from,
                                    g->counts + (from - first)));
  }
  return AMPED_OK;
}

/* Collective. Sum the numbers of nonzeros of shared rows over all ranks. A failure stays in
 * g->own. */
static void share_counts(sgd *g, int mode) {
  const amped_copy_plan *copy = &g->context->plan->modes[mode].copy;
  const uint64_t rows = copy->splits[copy->split_count].row;
  for (uint64_t first = 0; first < rows; first += COUNTS) {
    const uint64_t count = rows - first < COUNTS ? rows - first : COUNTS;
    for (uint64_t i = 0; i < count; i++)
      g->counts[i] = 0;
    AMPED_NEXT(g->own, pass_counts(g, mode, first, count, false));
    amped_comm_sum_u64(g->context->comm, g->counts, count);
    AMPED_NEXT(g->own, pass_counts(g, mode, first, count, true));
  }
}

/* --- parts of an epoch ------------------------------------------------------------------------ */

/* Collective; the status is agreed. A pass over all modes. now: sums over the factors after the
 * pass. */
static amped_status pass(sgd *g, double step, const amped_complete_modes *modes, double *now,
                         amped_mode_times *times) {
  const amped_row_update update = {
      .work = {.begin = begin_rows, .wait = wait_rows, .reduce = reduce_rows, .self = g},
      .self = g};
  double sums[3] = {0.0, 0.0, 0.0};
  double squares = 0.0;
  g->step = step;
  g->rows_sec = 0.0;
  for (int k = 0; k < modes->count; k++) {
    g->sums = (amped_row_step_sums){.count = 0};
    g->own = amped_mode_update(g->context, modes->order[k], g->own, &update, times);
    sums[0] = (double)g->sums.count;
    sums[1] += g->sums.penalty;
    sums[2] += g->sums.bias_penalty;
  }
  times->exchange -= g->rows_sec; /* mode_update counts all of reduce as exchange */
  times->solve += g->rows_sec;
  const double began = amped_time();
  AMPED_NEXT(g->own, ops_of(g)->squares(tensor_of(g), 0, g->fit, &squares));
  times->solve += amped_time() - began;
  double all[] = {sums[0], squares, sums[1], sums[2]};
  AMPED_TRY(amped_comm_sum_agreed(g->context->comm, g->own, all, 4));
  now[COUNT] = all[0];
  now[SQUARES] = all[1];
  now[PENALTY] = all[2];
  now[BIAS_PENALTY] = all[3];
  now[REG] = g->fit->reg;
  return AMPED_OK;
}

static double objective_of(const double *n) {
  return n[SQUARES] + n[PENALTY] + n[BIAS_PENALTY];
}

/* Set another penalty, and scale its sum. */
static void set_reg(double *n, double reg) {
  n[PENALTY] *= n[REG] > 0.0 ? reg / n[REG] : 1.0;
  n[REG] = reg;
}

/* Collective; the status is agreed. */
static amped_status begin(void *self, const amped_row_fit *fit) {
  sgd *g = self;
  amped_complete_sums sums;
  const amped_fixed_modes none = {.modes = 0};
  amped_complete_modes modes = {.count = g->context->plan->order, .fixed = &none};
  amped_mode_times times = {0.0, 0.0, 0.0, 0.0, 0.0};
  for (int m = 0; m < g->context->plan->order; m++) {
    modes.order[m] = m;
    share_counts(g, m);
  }
  if (g->numbers[STEP] > 0.0) /* resumed from a checkpoint */
    return amped_comm_agree(g->context->comm, g->own);
  g->fit = fit;
  for (int i = 0; i < AMPED_SGD_ALS_SWEEPS; i++)
    AMPED_TRY(amped_complete_als.sweep(g->als, fit, &modes, &sums, &times));
  AMPED_TRY(pass(g, 0.0, &modes, g->numbers, &times));
  g->numbers[STEP] = AMPED_SGD_FIRST;
  return AMPED_OK;
}

/* Collective; the status is agreed. Restore the factors that were saved before the epoch. */
static amped_status undo(sgd *g, amped_mode_times *times) {
  const double began = amped_time();
  AMPED_NEXT(g->own, ops_of(g)->restore(tensor_of(g)));
  for (int m = 0; m < g->context->plan->order; m++)
    AMPED_ALSO(g->own, amped_exchange_rows(g->context->exchange, m));
  times->exchange += amped_time() - began;
  return amped_comm_agree(g->context->comm, g->own);
}

const amped_complete_method amped_complete_sgd = {.name = "sgd",
                                                  .require = require,
                                                  .check = check,
                                                  .create = create,
                                                  .destroy = destroy,
                                                  .number_count = NUMBERS,
                                                  .numbers = numbers,
                                                  .begin = begin,
                                                  .sweep = sweep};
