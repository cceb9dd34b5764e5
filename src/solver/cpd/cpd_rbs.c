/* CP by randomised block sampling: steps, epochs, sweeps at the end, and checkpoints. */
#include "solver/cpd/cpd_rbs.h"

#include <math.h>
#include <string.h>

#include "base/log.h"
#include "base/buffers.h"
#include "base/timer.h"
#include "base/trace.h"
#include "mpi/allgather.h"
#include "plan/dense_passes.h"
#include "solver/cpd/cell_sample.h"
#include "solver/cpd/cpd_als.h"
#include "solver/fit.h"
#include "solver/mode_update.h"
#include "solver/normal_equations.h"
#include "solver/outcome.h"
#include "solver/unit_model.h"
#include "tensor/format.h"

/* Maximum number of values that are summed over ranks in one call. */
#define MOST_SUMMED (UINT64_C(1) << 28)

/* Share of --tol by which the fit of all cells changes at the end of the polish: rows that move by
 * 1e-3 change a fit by about 1e-5, the default of ALS. */
#define POLISH_TOL 0.01

static const char what[] = "randomised block sampling";

/* Numbers of a checkpoint. If cells stay in their file, the cells of the sample follow. */
enum {
  SLICES, /* 1: slices are sampled; 0: blocks */
  COUNT,  /* number of blocks or groups */
  SEARCH,
  OUTSIDE,
  CHANGE, /* change of the last epoch */
  EPOCHS, /* number of epochs before the polish; 0: the polish has not begun */
  NUMBERS
};

typedef struct rbs {
  const amped_context *context;
  const amped_cpd_options *how;
  const amped_iterate_options *options;
  const amped_rbs_settings *settings;
  const amped_dense_block_ops *ops;
  amped_solver_result *result;
  uint64_t seed;
  double tol;
  amped_dense_source *source; /* source of cells in a file; else NULL */
  amped_slice_reader *reader; /* reader of their slices; else NULL */
  amped_dense_blocks *blocks;
  amped_rbs_sample sample;
  amped_cell_sample cells;
  amped_block_sets sets;               /* this rank's sets in the current step */
  double *unit_grams[AMPED_MAX_ORDER]; /* [ncomps][ncomps] grams of whole factors, after an epoch */
  double *grams[AMPED_MAX_ORDER];      /* [blocks][ncomps][ncomps] grams of the current rows */
  double *v, *p, *keep;                /* [blocks][ncomps][ncomps] */
  double *weight;                      /* [blocks] weight of the proximal term */
  double *scale, *lengths;             /* [ncomps] */
  double unit;                         /* model of the tensor = unit * model in the factors */
  double *rows;                        /* [longest mode][ncomps] */
  double *sums;                        /* [longest mode][ncomps] sums of all groups, in a pass over
                                          cells in a file; or MTTKRP */
  amped_allgather *gather;             /* gathers such rows */
  uint64_t *part_first, *part_count;   /* [nranks] */
  amped_rows_moved moved[AMPED_MAX_ORDER];
  double *numbers;  /* numbers of a checkpoint; CHANGE is the largest change of a mode */
  bool restricted;  /* steps of the last epoch were restricted */
  bool warned;      /* always true: the polish gives no warning about its tolerance */
  bool shown_pass;  /* a pass near a fit of 1 was reported */
  amped_status own; /* this rank's first failure on which the ranks have not agreed yet */
} rbs;

/* --- the loop --------------------------------------------------------------------------------- */

static void make_even(rbs *r);
static amped_status run_step(rbs *r, uint64_t epoch, uint64_t step, amped_sweep_times *times);
static amped_status make_unit(rbs *r);
static amped_status find_change(rbs *r);
static amped_status fit_of_all_cells(void *self, double *value);

/* A sweep is an epoch, function by function:
 *   amped_rbs_sample_draw  the epoch's random blocks or groups of slices.
 *   make_even              the weights go into the factors.
 *   run_step, for each     read its cells, update the rows of its indices in all modes.
 *   make_unit              columns to unit length, their lengths as weights.
 *   find_change            how far rows moved: the stop rule.
 *   amped_cell_sample_fit  the fit of random cells.
 * Collective. A failure is agreed. */
static amped_status sweep(void *self, amped_sweep *s) {
  rbs *r = self;
  const uint64_t epoch = s->number - 1;
  const uint64_t steps = amped_rbs_sample_steps(&r->settings->shape);
  const double began = amped_time();
  amped_rbs_sample_draw(&r->sample, r->seed, epoch);
  make_even(r);
  for (uint64_t step = 0; step < steps; step++)
    AMPED_TRY(run_step(r, epoch, step, &s->times));
  AMPED_TRY(make_unit(r));
  AMPED_TRY(find_change(r));
  r->restricted = epoch >= r->settings->search;
  if (r->reader != NULL && epoch == 0) {
    AMPED_TRY(amped_cell_sample_end(r->context, &r->cells));
    amped_cell_sample_gather(r->context, &r->cells, r->numbers + NUMBERS);
  }
  amped_trace_begin(AMPED_PHASE_FIT, (int64_t)s->number);
  amped_status status = amped_cell_sample_fit(r->context, r->blocks, &r->cells, r->result->weights,
                                              r->own, &s->value, &s->noise);
  amped_trace_end();
  const double lambda = amped_rbs_lambda(r->settings, epoch, steps - 1);
  amped_fact(&s->facts, "moved", amped_json_number(r->numbers[CHANGE]), "  rows move by %.1e",
             r->numbers[CHANGE]);
  amped_fact(&s->facts, "lambda", amped_json_number(lambda), ", restricted by %.2g", lambda);
  amped_fact_words(&s->facts, "; fit of samples, +- %.0e", s->noise);
  s->times.total = amped_time() - began;
  AMPED_NEXT(status, amped_fit_check("the fit", s->value, "epoch", s->number));
  return status;
}

/* --- life ------------------------------------------------------------------------------------- */

bool amped_cpd_rbs_is_possible(const amped_worker *worker) {
  return worker->format->dense_blocks != NULL;
}

static uint64_t number_count(const amped_plan *plan, const amped_rbs_settings *settings) {
  return NUMBERS + (plan->dense.outside ? settings->fit_cells : 0);
}

static uint64_t longest_mode(const amped_plan *plan) {
  uint64_t most = 0;
  for (int m = 0; m < plan->order; m++)
    most = plan->dims[m] > most ? plan->dims[m] : most;
  return most;
}

static amped_buffers buffers(rbs *r, const amped_plan *plan, const amped_rbs_settings *settings) {
  amped_buffers b = {.what = what};
  const uint64_t count = amped_rbs_sample_most(&settings->shape).count;
  const uint64_t n = (uint64_t)plan->ncomps;
  const uint64_t ranks = (uint64_t)plan->nranks;
  for (int m = 0; m < plan->order; m++) {
    AMPED_BUFFER(&b, HOST, r->unit_grams[m], n * n);
    AMPED_BUFFER(&b, HOST, r->grams[m], count * n * n);
  }
  AMPED_BUFFER(&b, ZEROED, r->numbers, number_count(plan, settings));
  AMPED_BUFFER(&b, HOST, r->v, count * n * n);
  AMPED_BUFFER(&b, HOST, r->p, count * n * n);
  AMPED_BUFFER(&b, HOST, r->keep, count * n * n);
  AMPED_BUFFER(&b, HOST, r->weight, count);
  AMPED_BUFFER(&b, HOST, r->scale, n);
  AMPED_BUFFER(&b, HOST, r->lengths, n);
  AMPED_BUFFER(&b, HOST, r->rows, longest_mode(plan) * n);
  AMPED_BUFFER(&b, HOST, r->sums, longest_mode(plan) * n);
  AMPED_BUFFER(&b, HOST, r->part_first, ranks);
  AMPED_BUFFER(&b, HOST, r->part_count, ranks);
  return b;
}

amped_status amped_cpd_rbs_require(const amped_worker *worker, const amped_plan *plan,
                                   const amped_rbs_settings *settings, uint64_t *device_bytes,
                                   uint64_t *host_bytes) {
  const amped_block_shape most = amped_rbs_sample_most(&settings->shape);
  amped_buffers_require(buffers(&(rbs){0}, plan, settings), device_bytes, host_bytes);
  *host_bytes += amped_rbs_sample_bytes(&settings->shape) + amped_cell_sample_bytes(plan);
  if (most.given)
    *host_bytes += amped_slice_reader_bytes(plan, most.dims[settings->shape.mode]);
  return worker->format->dense_blocks->require(worker->device, plan, &most, device_bytes,
                                               host_bytes);
}

static amped_status allocate(rbs *r) {
  const amped_comm *comm = r->context->comm;
  const amped_plan *plan = r->context->plan;
  const amped_block_shape most = amped_rbs_sample_most(&r->settings->shape);
  AMPED_TRY(amped_buffers_allocate(buffers(r, plan, r->settings)));
  AMPED_TRY(
      amped_allgather_create(comm, comm->mpi, (uint64_t)plan->ncomps * sizeof(double), &r->gather));
  AMPED_TRY(amped_rbs_sample_create(&r->settings->shape, &r->sample));
  if (most.given)
    AMPED_TRY(amped_slice_reader_create(r->source, r->context->worker,
                                        most.dims[r->settings->shape.mode], &r->reader));
  return r->ops->create(r->context->worker->tensor, &most, &r->blocks);
}

static void release(rbs *r) {
  amped_buffers_free(buffers(r, r->context->plan, r->settings));
  amped_allgather_destroy(r->gather);
  amped_slice_reader_destroy(r->reader);
  amped_rbs_sample_free(&r->sample);
  amped_cell_sample_free(r->context->plan, &r->cells);
  r->ops->destroy(r->blocks);
}

/* Collective. Sum over ranks, at which the ranks also agree, because any rank may have failed since
 * the last sum. The statuses that the functions below return are agreed. */
static amped_status sum_over_ranks(rbs *r, double *values, uint64_t count) {
  for (uint64_t i = 0; i < count; i += MOST_SUMMED)
    AMPED_TRY(amped_comm_sum_agreed(r->context->comm, r->own, values + i,
                                    (int)(count - i < MOST_SUMMED ? count - i : MOST_SUMMED)));
  return AMPED_OK;
}

static size_t matrix(const rbs *r) {
  return (size_t)r->context->plan->ncomps * (size_t)r->context->plan->ncomps;
}

/* True if this rank has only a part of the mode's indices in a step. */
static bool is_cut(const rbs *r, int mode) {
  return !r->settings->shape.slices || mode == r->settings->shape.mode;
}

/* --- lengths of columns ----------------------------------------------------------------------- */

/* Unit of the tensor: the power of 2 below the root mean square of its cells. In this unit factors
 * have the same sizes for every scale of the values, so neither sums nor grams leave the range of
 * floats. Values times a power of 2 give the same factors to the bit. Steps scale with the tensor,
 * because the start has its norm. */
static double unit_of(const amped_plan *plan) {
  const double mean = plan->norm_squared / (double)plan->nnz;
  return mean > 0.0 && isfinite(mean) ? ldexp(1.0, ilogb(sqrt(mean))) : 1.0;
}

/* Scale whole factors to unit columns, and multiply the lengths into the weights. */
static amped_status make_unit(rbs *r) {
  const amped_plan *plan = r->context->plan;
  const amped_worker *worker = r->context->worker;
  double *weights = r->result->weights;
  for (int c = 0; c < plan->ncomps; c++)
    weights[c] = r->unit;
  for (int m = 0; m < plan->order; m++) {
    AMPED_NEXT(r->own, worker->backend->factors->gram(worker->factors, m, r->unit_grams[m]));
    AMPED_TRY(sum_over_ranks(r, r->unit_grams[m], matrix(r)));
    r->own = amped_unit_columns(r->context, m, 0, amped_plan_factor_rows(plan, m), r->unit_grams[m],
                                r->lengths, r->scale);
    for (int c = 0; c < plan->ncomps; c++)
      weights[c] *= r->lengths[c];
  }
  return AMPED_OK;
}

/* Returns |M|^2 of a model with these weights, from the grams of all modes. */
static double model_square(const rbs *r, double *const *grams, const double *weights) {
  const size_t n = (size_t)r->context->plan->ncomps;
  double square = 0.0;
  for (size_t i = 0; i < n * n; i++) {
    double product = weights[i / n] * weights[i % n];
    for (int m = 0; m < r->context->plan->order; m++)
      product *= grams[m][i];
    square += product;
  }
  return square;
}

/* Scale the start's weights so that its norm equals the tensor's. The unit columns stay. */
static void scale_start(rbs *r) {
  const amped_plan *plan = r->context->plan;
  const double square = model_square(r, r->unit_grams, r->result->weights);
  const double ratio = sqrt(plan->norm_squared / square);
  for (int c = 0; c < plan->ncomps && isfinite(ratio) && ratio > 0.0; c++)
    r->result->weights[c] *= ratio;
}

/* Multiply the weights into all modes equally. A component of weight 0 keeps its columns. */
static void make_even(rbs *r) {
  const amped_plan *plan = r->context->plan;
  const amped_worker *worker = r->context->worker;
  for (int c = 0; c < plan->ncomps; c++) {
    const double weight = r->result->weights[c] / r->unit;
    r->scale[c] = weight > 0.0 ? pow(weight, 1.0 / plan->order) : 1.0;
  }
  for (int m = 0; m < plan->order; m++)
    AMPED_NEXT(r->own, worker->backend->factors->scale(worker->factors, m, 0,
                                                       amped_plan_factor_rows(plan, m), r->scale));
}

/* --- a step ----------------------------------------------------------------------------------- */

/* Find the grams of mode's current rows. Grams of a group are summed over ranks. If every rank has
 * all rows, rank 0's gram is used, so that all ranks compute with the same bits. */
static amped_status find_grams(rbs *r, int mode) {
  AMPED_NEXT(r->own, r->ops->grams(r->blocks, mode, r->grams[mode]));
  if (!r->settings->shape.slices)
    return AMPED_OK;
  if (is_cut(r, mode))
    return sum_over_ranks(r, r->grams[mode], matrix(r));
  amped_comm_broadcast(r->context->comm, r->grams[mode], matrix(r) * sizeof(double));
  return AMPED_OK;
}

/* Number of elements of all rows of mode. */
static uint64_t elements_of(const rbs *r, int mode) {
  return r->context->plan->dims[mode] * (uint64_t)r->context->plan->ncomps; /* fits in memory */
}

/* Add up the ranks' sums of a group, for rows that all ranks have. */
static amped_status add_ranks(rbs *r, int mode) {
  if (is_cut(r, mode) || r->context->comm->nranks == 1)
    return AMPED_OK;
  AMPED_NEXT(r->own, r->ops->get_sums(r->blocks, r->rows));
  AMPED_TRY(sum_over_ranks(r, r->rows, elements_of(r, mode)));
  r->own = r->ops->put_sums(r->blocks, r->rows);
  return AMPED_OK;
}

/* Find the matrices of a block's update. V gets the proximal term on its diagonal. If rows have no
 * constraint, p and keep are such that the new rows are sums * p + old rows * keep. Sums are in the
 * tensor's unit, but V is not; p, or V and the term, are scaled for this. The status is this rank's
 * own. */
static amped_status find_matrices(rbs *r, uint64_t block, int mode, double lambda) {
  const amped_plan *plan = r->context->plan;
  const size_t n = (size_t)plan->ncomps;
  const double *grams[AMPED_MAX_ORDER];
  double *v = r->v + block * n * n;
  double *p = r->p + block * n * n;
  double *keep = r->keep + block * n * n;
  double trace = 0.0;
  bool singular = false;
  for (int m = 0; m < plan->order; m++)
    grams[m] = r->grams[m] + block * n * n;
  amped_hadamard(plan->order, plan->ncomps, grams, mode, v);
  for (size_t c = 0; c < n; c++)
    trace += v[c * n + c];
  const double weight = lambda * trace / (double)n;
  r->weight[block] = weight;
  for (size_t c = 0; c < n; c++)
    v[c * n + c] += weight;
  if (amped_row_rule_is_nonnegative(&r->how->rule, mode)) {
    AMPED_TRY(amped_gram_check(plan->ncomps, v));
    r->weight[block] *= r->unit;
    for (size_t i = 0; i < n * n; i++)
      v[i] *= r->unit;
    return AMPED_OK;
  }
  AMPED_TRY(amped_inverse(plan->ncomps, plan->value_type, v, p, keep, &singular));
  for (size_t i = 0; i < n * n; i++)
    keep[i] += weight * p[i];
  for (size_t i = 0; i < n * n; i++)
    p[i] /= r->unit;
  return AMPED_OK;
}

/* Make new rows from the sums and matrices. */
static void solve_rows(rbs *r, int mode) {
  if (amped_row_rule_is_nonnegative(&r->how->rule, mode))
    AMPED_NEXT(r->own, r->ops->descend(r->blocks, mode, r->v, r->weight, &r->moved[mode]));
  else
    AMPED_NEXT(r->own, r->ops->solve(r->blocks, mode, r->p, r->keep, &r->moved[mode]));
}

/* Make new rows of mode in all current blocks. */
static amped_status update_mode(rbs *r, int mode, double lambda, amped_sweep_times *times) {
  double at = amped_time();
  double now = at;
  amped_trace_begin(AMPED_PHASE_MTTKRP, mode);
  AMPED_NEXT(r->own, r->ops->mttkrp(r->blocks, mode));
  amped_trace_end();
  times->mttkrp += (now = amped_time()) - at;
  at = now;
  AMPED_TRY(add_ranks(r, mode));
  times->exchange += (now = amped_time()) - at;
  at = now;
  amped_trace_begin(AMPED_PHASE_SOLVE, mode);
  for (uint64_t b = 0; b < r->sets.count; b++)
    AMPED_NEXT(r->own, find_matrices(r, b, mode, lambda));
  solve_rows(r, mode);
  AMPED_TRY(find_grams(r, mode));
  amped_trace_end();
  times->solve += amped_time() - at;
  return AMPED_OK;
}

/* Copy the new rows of mode to the factors of all ranks. */
static void share_rows(rbs *r, uint64_t step, int mode) {
  const amped_plan *plan = r->context->plan;
  const uint64_t n = (uint64_t)plan->ncomps;
  amped_block_sets sets;
  uint64_t begin = 0;
  uint64_t end = plan->dims[mode];
  amped_trace_begin(AMPED_PHASE_EXCHANGE, mode);
  for (int p = 0; p < plan->nranks && is_cut(r, mode); p++) {
    amped_rbs_sample_sets(&r->sample, step, p, &sets);
    begin = p == 0 ? sets.first[mode][0] : begin;
    end = sets.first[mode][sets.count];
    r->part_first[p] = sets.first[mode][0] - begin;
    r->part_count[p] = end - sets.first[mode][0];
  }
  const uint64_t own = is_cut(r, mode) ? r->part_first[plan->rank] : 0;
  AMPED_NEXT(r->own, r->ops->get_rows(r->blocks, mode, r->rows + own * n));
  if (is_cut(r, mode) && plan->nranks > 1)
    amped_allgather_parts(r->gather, r->rows, r->part_first, r->part_count);
  AMPED_NEXT(r->own, r->ops->put_rows(r->blocks, mode, end - begin, r->sample.indices[mode] + begin,
                                      r->rows));
  amped_trace_end();
}

/* Begin to read this rank's slices of a step. */
static void read_ahead(rbs *r, uint64_t step) {
  const int mode = r->settings->shape.mode;
  amped_block_sets sets;
  amped_rbs_sample_sets(&r->sample, step, r->context->plan->rank, &sets);
  amped_slice_reader_begin(r->reader, sets.indices[mode] + sets.first[mode][0],
                           sets.first[mode][1] - sets.first[mode][0]);
}

/* Returns this rank's slices of a step, read from their file; the next slices are read meanwhile.
 * epoch: from 0; UINT64_MAX: outside epochs. */
static const void *read_slices(rbs *r, uint64_t epoch, uint64_t step) {
  const int mode = r->settings->shape.mode;
  const uint64_t first = r->sets.first[mode][0];
  const void *cells = NULL;
  if (step == 0)
    read_ahead(r, step);
  AMPED_ALSO(r->own, amped_slice_reader_wait(r->reader, &cells));
  if (step + 1 < r->settings->shape.count)
    read_ahead(r, step + 1);
  if (epoch == 0 && r->own == AMPED_OK)
    amped_cell_sample_see(r->context, &r->cells, r->sets.indices[mode] + first,
                          r->sets.first[mode][1] - first, cells);
  return cells;
}

/* Make the blocks of a step the current ones. */
static void take_step(rbs *r, uint64_t epoch, uint64_t step, amped_sweep_times *times) {
  const double began = amped_time();
  amped_rbs_sample_sets(&r->sample, step, r->context->plan->rank, &r->sets);
  const void *cells = r->reader != NULL ? read_slices(r, epoch, step) : NULL;
  AMPED_NEXT(r->own, r->ops->take(r->blocks, &r->sets, cells));
  times->copy += amped_time() - began;
}

/* Run one sweep of ALS in each current block. The mode of slices comes first. */
static amped_status run_step(rbs *r, uint64_t epoch, uint64_t step, amped_sweep_times *times) {
  const amped_plan *plan = r->context->plan;
  const amped_rbs_shape *shape = &r->settings->shape;
  const double lambda = amped_rbs_lambda(r->settings, epoch, step);
  const int begin = shape->slices ? shape->mode : 0;
  take_step(r, epoch, step, times);
  for (int m = 0; m < plan->order; m++)
    if (m != begin)
      AMPED_TRY(find_grams(r, m));
  for (int i = 0; i < plan->order; i++) {
    const int m = i == 0 ? begin : i <= begin ? i - 1 : i;
    AMPED_TRY(update_mode(r, m, shape->slices && m == begin ? AMPED_RBS_LEAST : lambda, times));
  }
  const double at = amped_time();
  for (int m = 0; m < plan->order; m++)
    share_rows(r, step, m);
  times->exchange += amped_time() - at;
  return AMPED_OK;
}

/* --- parts of an epoch ------------------------------------------------------------------------ */

/* Find the change of an epoch, from the moves of its steps. */
static amped_status find_change(rbs *r) {
  const int order = r->context->plan->order;
  double sums[2 * AMPED_MAX_ORDER] = {0.0};
  double change = 0.0;
  for (int m = 0; m < order; m++)
    if (is_cut(r, m) || r->context->comm->rank == 0) {
      sums[2 * m] = r->moved[m].moved;
      sums[2 * m + 1] = r->moved[m].size;
    }
  AMPED_TRY(sum_over_ranks(r, sums, 2 * (uint64_t)order));
  for (int m = 0; m < order; m++)
    if (sums[2 * m + 1] > 0.0)
      change = fmax(change, sqrt(sums[2 * m] / sums[2 * m + 1]));
  r->numbers[CHANGE] = change;
  memset(r->moved, 0, sizeof r->moved);
  return AMPED_OK;
}

static void view(const void *self, amped_solver_state *state) {
  const rbs *r = self;
  state->weights = r->result->weights;
  state->numbers = r->numbers;
  state->number_count = number_count(r->context->plan, r->settings);
  memcpy(state->grams, r->unit_grams, sizeof state->grams);
}

/* The reason to stop of epochs whose sampled fit reached the goal, if sweeps over all cells, which
 * came next, did not reach it. */
static const char goal_of_samples[] = "stop-fit of sampled cells";

static const char *stop(const void *self) {
  const rbs *r = self;
  if (r->restricted && r->numbers[CHANGE] < r->tol)
    return "rows move by less than --tol";
  return r->result->sweeps >= r->settings->epochs ? "--epochs reached" : NULL;
}

const amped_solver amped_cpd_rbs_solver = {.metric = "fit",
                                           .facts_name = "sampling",
                                           .has_grams = true,
                                           .has_numbers = true,
                                           .sweep = sweep,
                                           .view = view,
                                           .stop = stop,
                                           .finish = fit_of_all_cells};

/* --- the end ---------------------------------------------------------------------------------- */

static void add_times(amped_sweep_times *to, const amped_sweep_times *t) {
  to->mttkrp += t->mttkrp;
  to->copy += t->copy;
  to->solve += t->solve;
  to->exchange += t->exchange;
  to->total += t->total;
}

/* Pass a checkpoint of the polish on, with the numbers of the epochs before it. */
static amped_status after_polish(void *context, const amped_sweep *sweep) {
  const rbs *r = context;
  amped_sweep own = *sweep;
  amped_solver_state state = *sweep->state;
  state.numbers = r->numbers;
  state.number_count = number_count(r->context->plan, r->settings);
  own.state = &state;
  return r->options->after_sweep(r->options->context, &own);
}

/* Options of the polish: sweeps until the fit of all cells changes by less than POLISH_TOL --tol.
 * Fits of epochs are estimates. No warning is about this tolerance, which is not the user's. */
static amped_iterate_options polish_options(rbs *r) {
  amped_iterate_options own = *r->options;
  if (r->numbers[EPOCHS] == 0.0)
    r->numbers[EPOCHS] = (double)r->result->sweeps;
  own.estimated = (uint64_t)r->numbers[EPOCHS];
  own.iters = own.estimated + r->settings->polish;
  own.tol = POLISH_TOL * r->tol;
  own.noise_reported = &r->warned;
  return own;
}

/* The reason to stop of a run, from the reasons of its epochs and of its polish. */
static const char *reason_of(const char *epochs, const char *polish) {
  if (strcmp(polish, AMPED_GOAL) == 0)
    return polish;
  return strcmp(epochs, AMPED_GOAL) == 0 ? goal_of_samples : epochs;
}

/* Run ALS from the model of the last epoch, or from a checkpoint of the polish. */
static amped_status polish(rbs *r) {
  const amped_plan *plan = r->context->plan;
  amped_solver_result *result = r->result;
  amped_solver_result polished;
  amped_solver_state state = {.order = plan->order,
                              .ncomps = plan->ncomps,
                              .sweeps = result->sweeps,
                              .metric = result->metric,
                              .history = result->history};
  amped_iterate_options als = polish_options(r);
  view(r, &state);
  als.start = &state;
  als.after_sweep = r->options->after_sweep != NULL ? after_polish : NULL;
  als.context = r;
  AMPED_TRY(amped_cpd_run(r->context, r->how, NULL, &als, &polished));
  polished.earlier = result->earlier;
  polished.stop_reason = reason_of(result->stop_reason, polished.stop_reason);
  add_times(&polished.times, &result->times);
  amped_solver_result_free(result);
  *result = polished;
  return AMPED_OK;
}

/* Collective. Report the bytes that were read, and how long computing waited for them. */
static void tell_reading(const rbs *r) {
  const amped_comm *comm = r->context->comm;
  char size[32];
  double seconds = 0.0;
  double waited = 0.0;
  double bytes = 0.0;
  if (r->reader == NULL)
    return;
  bytes = (double)amped_slice_reader_total(r->reader, &seconds, &waited);
  seconds = amped_comm_spread(comm, seconds).max;
  waited = amped_comm_spread(comm, waited).max;
  amped_comm_sum(comm, &bytes, 1);
  amped_say("slices: %s read in %.2f s (%.3g GB/s), of which computing waited for %.2f s",
            amped_format_bytes(size, (uint64_t)bytes), seconds,
            1e-9 * bytes / (seconds > 0.0 ? seconds : 1e-9), waited);
}

/* --- a checkpoint ----------------------------------------------------------------------------- */

static bool is_count(double x, uint64_t most) {
  return x >= 0.0 && x <= (double)most && x == floor(x);
}

static amped_status check_numbers(const rbs *r, const amped_solver_state *start) {
  const double *found = start->numbers;
  if (start->number_count < NUMBERS || !is_count(found[EPOCHS], start->sweeps) ||
      !(found[CHANGE] >= 0.0))
    return amped_error(AMPED_BAD_INPUT, start->file,
                       "does not fit --method=rbs; name another file with --checkpoint");
  for (int i = SLICES; i <= OUTSIDE; i++)
    if (found[i] != r->numbers[i])
      return amped_error(
          AMPED_BAD_INPUT, start->file,
          "belongs to a run with other samples (%s, %.0f of them, --search=%.0f%s); give the same "
          "--sample, --block, --search and --memory, or name another file with --checkpoint",
          found[SLICES] != 0.0 ? "groups of slices" : "blocks", found[COUNT], found[SEARCH],
          found[OUTSIDE] != 0.0 ? ", cells in their file" : "");
  if (start->number_count == number_count(r->context->plan, r->settings))
    return AMPED_OK;
  return amped_error(AMPED_BAD_INPUT, start->file,
                     "holds %" PRIu64 " numbers instead of %" PRIu64
                     "; name another file with --checkpoint",
                     start->number_count, number_count(r->context->plan, r->settings));
}

/* Restore the sample of cells, which the slices of the first epoch gave, from a checkpoint. */
static amped_status recall_cells(rbs *r) {
  const amped_rbs_shape *shape = &r->settings->shape;
  amped_rbs_sample_draw(&r->sample, r->seed, 0);
  for (uint64_t step = 0; step < shape->count; step++) {
    amped_rbs_sample_sets(&r->sample, step, r->context->plan->rank, &r->sets);
    const uint64_t *first = r->sets.first[shape->mode];
    amped_cell_sample_recall(r->context, &r->cells, r->sets.indices[shape->mode] + first[0],
                             first[1] - first[0], r->numbers + NUMBERS);
  }
  return amped_cell_sample_end(r->context, &r->cells);
}

/* Resume from a checkpoint, whose factors have unit columns. */
static amped_status go_on(rbs *r, const amped_solver_state *start) {
  AMPED_TRY(amped_comm_agree(r->context->comm, check_numbers(r, start)));
  memcpy(r->numbers, start->numbers, start->number_count * sizeof *start->numbers);
  for (int m = 0; m < r->context->plan->order; m++)
    memcpy(r->unit_grams[m], start->grams[m], matrix(r) * sizeof(double));
  const uint64_t epochs =
      r->numbers[EPOCHS] > 0.0 ? (uint64_t)r->numbers[EPOCHS] : r->result->sweeps;
  r->restricted = epochs > r->settings->search;
  return r->reader != NULL ? recall_cells(r) : AMPED_OK;
}

/* --- sweeps over cells that stay in their file ------------------------------------------------ */

/* Pass over the file. r->sums = sums of all groups in mode, whose rows all ranks have. If `own` is
 * at least 0, it is the slices' mode: each group first gets new rows of it, and their gram is
 * summed up. */
static amped_status pass_over_file(rbs *r, int own, int mode, amped_sweep_times *times) {
  const uint64_t count = elements_of(r, mode);
  double *gram = own >= 0 ? r->grams[own] : NULL;
  memset(r->sums, 0, count * sizeof *r->sums);
  for (size_t i = 0; own >= 0 && i < matrix(r); i++)
    gram[i] = 0.0;
  for (uint64_t step = 0; step < r->settings->shape.count; step++) {
    take_step(r, UINT64_MAX, step, times);
    const double began = amped_time();
    if (own >= 0) {
      AMPED_NEXT(r->own, r->ops->mttkrp(r->blocks, own));
      solve_rows(r, own);
      AMPED_NEXT(r->own, r->ops->grams(r->blocks, own, r->unit_grams[own]));
      for (size_t i = 0; i < matrix(r); i++)
        gram[i] += r->unit_grams[own][i];
      share_rows(r, step, own);
    }
    AMPED_NEXT(r->own, r->ops->mttkrp(r->blocks, mode));
    AMPED_NEXT(r->own, r->ops->get_sums(r->blocks, r->rows));
    for (uint64_t i = 0; i < count; i++)
      r->sums[i] += r->rows[i];
    times->mttkrp += amped_time() - began;
  }
  if (own >= 0)
    AMPED_TRY(sum_over_ranks(r, gram, matrix(r)));
  return sum_over_ranks(r, r->sums, count);
}

/* Make new rows of a mode from the sums of all groups. All ranks have all rows of this mode. */
static amped_status finish_mode(rbs *r, int mode, amped_sweep_times *times) {
  const double began = amped_time();
  AMPED_NEXT(r->own, find_matrices(r, 0, mode, 0.0));
  AMPED_NEXT(r->own, r->ops->put_sums(r->blocks, r->sums));
  solve_rows(r, mode);
  AMPED_TRY(find_grams(r, mode));
  share_rows(r, 0, mode); /* leaves the rows in r->rows */
  times->solve += amped_time() - began;
  return AMPED_OK;
}

/* Returns <X, M> of a model with these weights, from `count` rows: r->sums has their MTTKRP,
 * r->rows the rows. */
static double inner_of(const rbs *r, uint64_t count, const double *weights) {
  const uint64_t n = (uint64_t)r->context->plan->ncomps;
  double inner = 0.0;
  for (uint64_t i = 0; i < count * n; i++)
    inner += r->sums[i] * r->rows[i] * weights[i % n];
  return inner;
}

/* The sums over all cells, near a fit of 1: a pass over the file. The status is this rank's own. */
static amped_status products_outside(void *self, double scale, const double *weights,
                                     amped_products *out) {
  rbs *r = self;
  amped_products one = {.xx = {0.0, 0.0}};
  *out = one;
  amped_rbs_sample_in_order(&r->sample);
  for (uint64_t step = 0; step < r->settings->shape.count; step++) {
    take_step(r, UINT64_MAX, step, &r->result->times);
    AMPED_NEXT(r->own, r->ops->products(r->blocks, scale, weights, &one));
    out->xx = amped_dd_add(out->xx, one.xx);
    out->xm = amped_dd_add(out->xm, one.xm);
  }
  return r->own;
}

/* Find the fit of the unit model, whose <X, M> is inner. All ranks have all rows. */
static amped_status find_fit_outside(rbs *r, uint64_t sweep, double inner, double *value,
                                     double *noise) {
  const amped_residual_pass pass = {.run = products_outside, .self = r};
  amped_fit fit = {.context = r->context,
                   .pass = &pass,
                   .result = r->result,
                   .v = r->v,
                   .shown_pass = r->shown_pass};
  double part = 0.0;
  AMPED_TRY(amped_fit_find(&fit, sweep, (const double *const *)r->unit_grams, inner, AMPED_OK,
                           &part, noise));
  r->shown_pass = fit.shown_pass;
  *value = amped_fit_of_part(part);
  return AMPED_OK;
}

/* Find the fit of the unit model by one pass over the file, and by another near 1. */
static amped_status fit_outside(rbs *r, double *value) {
  const int mode = r->settings->shape.mode == 0 ? 1 : 0;
  double noise = 0.0;
  amped_sweep_times *times = &r->result->times;
  const double began = amped_time();
  amped_rbs_sample_in_order(&r->sample);
  AMPED_TRY(pass_over_file(r, -1, mode, times));
  share_rows(r, 0, mode); /* leaves the rows in r->rows */
  const double inner = inner_of(r, r->context->plan->dims[mode], r->result->weights);
  r->shown_pass = true;
  AMPED_TRY(find_fit_outside(r, r->result->sweeps, inner, value, &noise));
  times->total += amped_time() - began;
  return r->own;
}

/* inner = <X, M> of the unit model, from this rank's rows of an MTTKRP. */
static amped_status find_inner(rbs *r, double *inner) {
  const amped_worker *worker = r->context->worker;
  const amped_factor_ops *factors = worker->backend->factors;
  const amped_row_plan *own = &r->context->plan->modes[0].rows;
  const int rank = r->context->plan->rank;
  const uint64_t count = own->rank_rows[rank];
  AMPED_TRY(factors->get_output(worker->factors, 0, 0, count, r->sums));
  AMPED_TRY(
      factors->get_rows(worker->factors, 0, (uint64_t)rank * own->block_rows, count, r->rows));
  *inner = inner_of(r, count, r->result->weights);
  return AMPED_OK;
}

/* Find the fit of the unit model by an MTTKRP; near a fit of 1, and with TF32, by exact sums. */
static amped_status fit_inside(rbs *r, double *value) {
  amped_fit fit = {.context = r->context, .result = r->result, .v = r->v, .shown_pass = true};
  amped_mttkrp_times times;
  double inner = 0.0;
  double part = 0.0;
  double noise = 0.0;
  AMPED_TRY(amped_mode_mttkrp(r->context, 0, &times));
  AMPED_NEXT(r->own, find_inner(r, &inner));
  AMPED_TRY(sum_over_ranks(r, &inner, 1));
  AMPED_TRY(amped_fit_find(&fit, r->result->sweeps, (const double *const *)r->unit_grams, inner,
                           AMPED_OK, &part, &noise));
  *value = amped_fit_of_part(part);
  return amped_fit_finish(&fit, value);
}

/* After the epochs: the fit of all cells, if no polish follows. Fits of epochs are of samples. */
static amped_status fit_of_all_cells(void *self, double *value) {
  rbs *r = self;
  if (r->settings->polish > 0)
    return AMPED_OK;
  amped_trace_begin(AMPED_PHASE_FIT, (int64_t)r->result->sweeps);
  r->result->residuals++;
  const amped_status status = r->reader != NULL ? fit_outside(r, value) : fit_inside(r, value);
  amped_trace_end();
  return status;
}

/* Run a sweep of ALS in N - 1 passes over the file. The mode of slices comes first: a group has all
 * cells of its rows, so the first pass finds these rows and the sums of the next mode. */
static amped_status sweep_outside(void *self, amped_sweep *s) {
  rbs *r = self;
  const amped_plan *plan = r->context->plan;
  const size_t n = (size_t)plan->ncomps;
  const int own = r->settings->shape.mode;
  double *weights = r->scale;
  const double began = amped_time();
  int last = -1;
  for (size_t c = 0; c < n; c++)
    weights[c] = r->result->weights[c] / r->unit;
  amped_rbs_sample_in_order(&r->sample);
  AMPED_NEXT(r->own,
             r->context->worker->backend->factors->scale(
                 r->context->worker->factors, own, 0, amped_plan_factor_rows(plan, own), weights));
  for (int m = 0; m < plan->order; m++)
    memcpy(r->grams[m], r->unit_grams[m], matrix(r) * sizeof(double));
  for (size_t i = 0; i < n * n; i++)
    r->grams[own][i] *= weights[i / n] * weights[i % n];
  AMPED_NEXT(r->own, find_matrices(r, 0, own, 0.0));
  for (int m = 0; m < plan->order; m++)
    if (m != own) {
      AMPED_TRY(pass_over_file(r, last < 0 ? own : -1, m, &s->times));
      AMPED_TRY(finish_mode(r, m, &s->times));
      last = m;
    }
  for (size_t c = 0; c < n; c++)
    weights[c] = r->unit;
  const double inner = inner_of(r, plan->dims[last], weights);
  AMPED_TRY(make_unit(r));
  AMPED_TRY(find_fit_outside(r, s->number, inner, &s->value, &s->noise));
  memset(r->moved, 0, sizeof r->moved);
  s->times.total = amped_time() - began;
  return amped_fit_check("the fit", s->value, "sweep", s->number);
}

static const amped_solver outside_solver = {.metric = "fit",
                                            .facts_name = "sampling",
                                            .has_grams = true,
                                            .has_numbers = true,
                                            .sweep = sweep_outside,
                                            .view = view};

static amped_status polish_outside(rbs *r) {
  const amped_iterate_options own = polish_options(r);
  const char *reason = r->result->stop_reason;
  AMPED_TRY(amped_iterate(r->context, &outside_solver, r, &own, r->result));
  r->result->stop_reason = reason_of(reason, r->result->stop_reason);
  return AMPED_OK;
}

/* Number of epochs, with an earlier run's. */
static uint64_t epochs_of(const rbs *r) {
  return r->numbers[EPOCHS] > 0.0 ? (uint64_t)r->numbers[EPOCHS] : r->result->sweeps;
}

/* Report that the last fit is exact, if no polish gives exact fits. */
static void tell_exact(const rbs *r, amped_facts *facts) {
  const double fit = amped_solver_result_value(r->result);
  if (r->settings->polish > 0 || r->numbers[EPOCHS] > 0.0 || r->result->sweeps == 0)
    return;
  amped_fact(facts, "sampled_fit", amped_json_number(fit - r->result->moved),
             "fit of all cells: %.8f, by one more pass; the last sample's fit was %.8f\n", fit,
             fit - r->result->moved);
}

static void tell_polish(const rbs *r, amped_facts *facts) {
  const uint64_t sweeps = r->result->sweeps - epochs_of(r);
  amped_fact(facts, "polished", amped_json_count(sweeps),
             "polish: %" PRIu64 " sweep%s over all cells", sweeps, sweeps == 1 ? "" : "s");
  if (amped_solver_result_has_converged(r->result, POLISH_TOL * r->tol))
    amped_fact_words(facts, ", until the fit changed by less than %g", POLISH_TOL * r->tol);
  amped_fact_words(facts, "\n");
}

/* Add the passes over the cells in this run: parts for epochs, and whole ones. */
static void tell_passes(const rbs *r, amped_facts *facts) {
  const amped_plan *plan = r->context->plan;
  const amped_solver_result *result = r->result;
  const uint64_t order = (uint64_t)plan->order;
  const uint64_t all = epochs_of(r);
  const uint64_t epochs = all > result->earlier ? all - result->earlier : 0;
  const uint64_t first = all > result->earlier ? all : result->earlier; /* first whole sweep */
  const uint64_t whole = plan->dense.outside
                             ? (result->sweeps - first) * (order - 1)
                             : amped_dense_count_passes(&plan->dense, plan->order, first * order,
                                                        result->sweeps * order);
  const double share = amped_rbs_epoch_share(r->settings);
  amped_outcome_passes(facts, result, (double)epochs * share + (double)whole, "an_epoch", share);
}

/* --- a run ------------------------------------------------------------------------------------ */

static amped_status begin(rbs *r) {
  const amped_rbs_settings *s = r->settings;
  AMPED_TRY(amped_comm_agree(r->context->comm, allocate(r)));
  AMPED_TRY(amped_cell_sample_draw(r->context, r->blocks, r->seed, s->fit_cells, &r->cells));
  r->numbers[SLICES] = s->shape.slices;
  r->numbers[COUNT] = (double)s->shape.count;
  r->numbers[SEARCH] = (double)s->search;
  r->numbers[OUTSIDE] = r->reader != NULL;
  if (r->options->start != NULL) {
    r->unit = unit_of(r->context->plan);
    return go_on(r, r->options->start);
  }
  r->unit = 1.0; /* unit of the start */
  AMPED_TRY(make_unit(r));
  scale_start(r);
  r->unit = unit_of(r->context->plan);
  return AMPED_OK;
}

/* Run the epochs that are left. */
static amped_status run_epochs(rbs *r, const amped_iterate_options *own) {
  if (r->numbers[EPOCHS] == 0.0) {
    AMPED_TRY(amped_iterate(r->context, &amped_cpd_rbs_solver, r, own, r->result));
    if (r->settings->polish == 0 && strcmp(r->result->stop_reason, AMPED_GOAL) == 0 &&
        !amped_solver_result_has_reached(r->result, own->goal))
      r->result->stop_reason = goal_of_samples;
    return AMPED_OK;
  }
  const double fit = r->result->history[(uint64_t)r->numbers[EPOCHS] - 1];
  const char *reason = own->goal > 0.0 && fit >= own->goal ? AMPED_GOAL : stop(r);
  r->result->stop_reason = reason != NULL ? reason : "--epochs reached";
  return AMPED_OK;
}

amped_status amped_cpd_rbs(const amped_context *context, const amped_cpd_options *how,
                           const amped_iterate_options *options, amped_solver_result *result) {
  const amped_rbs_settings *settings = how->sampling->settings;
  amped_iterate_options own = *options;
  rbs r = {.context = context,
           .how = how,
           .options = options,
           .settings = settings,
           .source = how->sampling->source,
           .ops = context->worker->format->dense_blocks,
           .result = result,
           .seed = how->sampling->seed,
           .tol = options->tol,
           .warned = true};
  own.iters = settings->epochs + settings->polish; /* size of the history */
  own.tol = 0.0;
  amped_status status = amped_solver_result_create(context, &amped_cpd_rbs_solver, &own, result);
  status = amped_comm_agree(context->comm, status);
  own.iters = settings->epochs;
  if (status == AMPED_OK)
    status = begin(&r);
  if (status == AMPED_OK)
    status = run_epochs(&r, &own);
  if (status == AMPED_OK && settings->polish > 0)
    status = r.reader != NULL ? polish_outside(&r) : polish(&r);
  if (status == AMPED_OK) {
    tell_reading(&r);
    tell_exact(&r, &result->facts);
    tell_polish(&r, &result->facts);
    tell_passes(&r, &result->facts);
  }
  release(&r);
  if (status != AMPED_OK)
    amped_solver_result_free(result);
  return status;
}
