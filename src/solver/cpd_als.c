#include "solver/cpd_als.h"

#include <math.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "solver/normal_equations.h"
#include "base/timer.h"
#include "base/trace.h"

typedef struct als {
  const amped_context *context;
  amped_als_result *result;
  double *grams[AMPED_MAX_ORDER]; /* of unit columns once a mode was updated; and one number more */
  double *v;                      /* Hadamard product of grams */
  double *p;                      /* its inverse */
  double *scale;                  /* [ncomps] */
  amped_sweep_times times;        /* of the sweep in hand */
  double noise;                   /* of its fit */
  bool *told;                     /* that --tol is below the noise */
} als;

static amped_status allocate(als *a, uint64_t iters) {
  uint64_t n = (uint64_t)a->context->plan->ncomps;
  for (int m = 0; m < a->context->plan->order; m++)
    AMPED_TRY(amped_alloc(&a->grams[m], n * n + 1, sizeof(double), "a gram matrix"));
  AMPED_TRY(amped_alloc(&a->v, n * n, sizeof(double), "a gram matrix"));
  AMPED_TRY(amped_alloc(&a->p, n * n, sizeof(double), "a gram matrix"));
  AMPED_TRY(amped_alloc(&a->scale, n, sizeof(double), "the weights"));
  AMPED_TRY(amped_alloc(&a->result->weights, n, sizeof(double), "the weights"));
  return amped_alloc(&a->result->fit, iters, sizeof(double), "the fits");
}

static void release(als *a) {
  for (int m = 0; m < AMPED_MAX_ORDER; m++)
    amped_free(a->grams[m]);
  amped_free(a->v);
  amped_free(a->p);
  amped_free(a->scale);
}

/* A failure inside a sweep ends the job: other ranks may wait in a collective already. */
static void must(const als *a, amped_status status) {
  if (status != AMPED_OK)
    amped_comm_abort(a->context->comm, status);
}

/* The gram of mode's factor over all ranks; with it, in one message, the inner product of the last
 * MTTKRP and the factor, where asked for. */
static void sum_gram(als *a, int mode, double *inner) {
  const amped_context *context = a->context;
  int elements = context->plan->ncomps * context->plan->ncomps;
  double *gram = a->grams[mode];
  amped_trace_begin(AMPED_PHASE_GRAM, mode);
  must(a, context->worker->backend->factors->gram(context->worker->factors, mode, gram));
  if (inner != NULL)
    must(a,
         context->worker->backend->factors->inner(context->worker->factors, mode, &gram[elements]));
  amped_trace_begin(AMPED_PHASE_WAIT, mode);
  amped_comm_sum(context->comm, gram, elements + (inner != NULL ? 1 : 0));
  amped_trace_end();
  if (inner != NULL)
    *inner = gram[elements];
  amped_trace_end();
}

/* Columns of mode's factor, in so many rows from a position, to unit length, their lengths to the
 * weights, the gram to match. A zero column stays zero and gets weight 0. */
static void normalise(als *a, int mode, uint64_t position, uint64_t rows) {
  const amped_context *context = a->context;
  size_t n = (size_t)context->plan->ncomps;
  double *gram = a->grams[mode];
  amped_trace_begin(AMPED_PHASE_NORMALISE, mode);
  for (size_t r = 0; r < n; r++) {
    a->result->weights[r] = sqrt(gram[r * n + r]);
    a->scale[r] = a->result->weights[r] > 0.0 ? 1.0 / a->result->weights[r] : 0.0;
  }
  for (size_t r = 0; r < n; r++)
    for (size_t s = 0; s < n; s++)
      gram[r * n + s] = gram[r * n + s] * a->scale[r] * a->scale[s];
  must(a, context->worker->backend->factors->scale(context->worker->factors, mode, position, rows,
                                                   a->scale));
  amped_trace_end();
}

/* |M|^2 = sum over r, s of weight_r weight_s prod over modes of gram[r][s]; *sizes is the sum of
 * the terms' sizes. */
static double model_norm_squared(const als *a, double *sizes) {
  const amped_plan *plan = a->context->plan;
  size_t n = (size_t)plan->ncomps;
  const double *w = a->result->weights;
  double sum = 0.0;
  *sizes = 0.0;
  amped_hadamard(plan->order, plan->ncomps, (const double *const *)a->grams, -1, a->v);
  for (size_t r = 0; r < n; r++)
    for (size_t s = 0; s < n; s++) {
      double term = w[r] * w[s] * a->v[r * n + s];
      sum += term;
      *sizes += fabs(term);
    }
  return sum;
}

/* The residual's square over |X|^2, in which terms of size 1 + sizes cancel, is off by rounding of
 * that size; the fit, 1 - its root, by half of that over the root. */
static double noise_of(const amped_plan *plan, double part, double sizes) {
  double unit = plan->value_type == AMPED_F32 ? 0x1p-24 : 0x1p-53;
  double error = unit * (1.0 + sizes / plan->norm_squared);
  return 0.5 * error / sqrt(part > error ? part : error);
}

/* In one line, once: --tol asks for what rounding hides. */
static void tell_noise(als *a, double change, double fit, double tol) {
  bool single = a->context->plan->value_type == AMPED_F32;
  if (*a->told || !(tol < a->noise && fabs(change) < a->noise && fabs(change) >= tol && tol > 0.0))
    return;
  *a->told = true;
  amped_warn("--tol=%g is below what the fit can show here: near %.6f rounding in %s moves it by "
             "about %.0e, so that sweeps may go on to --iters in vain; use --tol=%.0e%s",
             tol, fit, single ? "float" : "double", a->noise, 2.0 * a->noise,
             single ? " or --precision=double" : "");
}

/* Seconds since *at, which moves on to now. */
static double lap(double *at) {
  double began = *at;
  *at = amped_time();
  return *at - began;
}

static void invert(als *a, int mode) {
  const amped_plan *plan = a->context->plan;
  bool was_truncated = a->result->truncated;
  amped_trace_begin(AMPED_PHASE_SOLVE, mode);
  amped_hadamard(plan->order, plan->ncomps, (const double *const *)a->grams, mode, a->v);
  must(a, amped_inverse(plan->ncomps, plan->value_type, a->v, a->p, &a->result->truncated));
  if (a->result->truncated && !was_truncated)
    amped_warn("mode %d: the gram matrix is singular (components are collinear or zero); using a "
               "truncated pseudo-inverse from here on where needed; fewer components may do",
               mode);
  amped_trace_end();
}

static void wait_for_part(als *a, int mode, int part, double *at) {
  const amped_context *context = a->context;
  amped_mttkrp_times t = {0.0, 0.0};
  if (part > 0) /* that of the first part has lasted since MTTKRP was begun */
    amped_trace_begin(AMPED_PHASE_MTTKRP, mode);
  must(a, context->worker->format->mttkrp_wait(context->worker->tensor, mode, part, &t));
  amped_trace_end();
  a->times.mttkrp += lap(at);
  if (part + 1 < context->plan->modes[mode].parts)
    return;
  a->times.copy += t.copy_sec;
  amped_exchange_reduce(context->exchange, mode);
  a->times.exchange += lap(at);
}

static void solve_part(als *a, int mode, int part, double *at) {
  const amped_context *context = a->context;
  const uint64_t *rows = &context->plan->modes[mode].part_rows[part];
  amped_trace_begin(AMPED_PHASE_SOLVE, mode);
  must(a, context->worker->backend->factors->solve(context->worker->factors, mode, rows[0], rows[1],
                                                   a->p));
  amped_trace_end();
  a->times.solve += lap(at);
}

static void exchange_part(als *a, int mode, int part, double *at) {
  const uint64_t *rows = &a->context->plan->modes[mode].part_rows[part];
  amped_exchange_part(a->context->exchange, mode, rows[0], rows[1]);
  a->times.exchange += lap(at);
}

/* Rows of a block in parts travel as they are solved, while the later ones are computed, and are
 * normalised where they arrive; those of a whole block are normalised by their owner. */
static void update_mode(als *a, int mode, bool last, double *inner) {
  const amped_context *context = a->context;
  const amped_mode_plan *m = &context->plan->modes[mode];
  double at = amped_time();
  amped_trace_begin(AMPED_PHASE_MTTKRP, mode);
  must(a, context->worker->format->mttkrp_begin(context->worker->tensor, mode));
  a->times.mttkrp += lap(&at);
  invert(a, mode);
  a->times.solve += lap(&at);
  for (int part = 0; part < m->parts; part++) {
    wait_for_part(a, mode, part, &at);
    solve_part(a, mode, part, &at);
    if (m->parts > 1)
      exchange_part(a, mode, part, &at);
  }
  sum_gram(a, mode, last ? inner : NULL);
  if (m->parts > 1)
    normalise(a, mode, 0, amped_plan_factor_rows(context->plan, mode));
  else
    normalise(a, mode, (uint64_t)context->plan->rank * m->block_rows, m->block_rows);
  a->times.solve += lap(&at);
  if (m->parts == 1)
    exchange_part(a, mode, 0, &at);
}

static amped_status sweep(als *a, double *fit) {
  const amped_plan *plan = a->context->plan;
  double inner = 0.0;
  double began = amped_time();
  memset(&a->times, 0, sizeof a->times);
  for (int m = 0; m < plan->order; m++)
    update_mode(a, m, m == plan->order - 1, &inner);
  amped_trace_begin(AMPED_PHASE_FIT, (int64_t)a->result->sweeps + 1);
  double sizes = 0.0;
  double residual = plan->norm_squared + model_norm_squared(a, &sizes) - 2.0 * inner;
  a->noise = noise_of(plan, residual / plan->norm_squared, sizes);
  *fit = 1.0 - sqrt(residual > 0.0 ? residual : 0.0) / sqrt(plan->norm_squared);
  amped_trace_end();
  a->times.total = amped_time() - began;
  amped_sweep_times *sum = &a->result->times;
  sum->mttkrp += a->times.mttkrp;
  sum->copy += a->times.copy;
  sum->solve += a->times.solve;
  sum->exchange += a->times.exchange;
  sum->total += a->times.total;
  if (!isfinite(residual))
    return amped_error(AMPED_FAILED, NULL,
                       "the fit is not a number after sweep %" PRIu64
                       "; try --precision=double, another --seed, or check the values' range",
                       a->result->sweeps + 1);
  return AMPED_OK;
}

static bool converged(const amped_als_result *r, double tol) {
  return r->sweeps > 1 && fabs(r->fit[r->sweeps - 1] - r->fit[r->sweeps - 2]) < tol;
}

static amped_status next_sweep(als *a, const amped_als_options *options) {
  amped_als_result *result = a->result;
  const uint64_t i = result->sweeps;
  double fit = 0.0;
  amped_status status = AMPED_OK;
  amped_trace_begin(AMPED_PHASE_SWEEP, (int64_t)i + 1);
  AMPED_TRY(amped_comm_agree(a->context->comm, sweep(a, &fit)));
  amped_trace_end();
  result->fit[result->sweeps++] = fit;
  amped_solver_state state = {a->context->plan->order, a->context->plan->ncomps,
                              result->sweeps,          result->fit,
                              result->weights,         {NULL}};
  memcpy(state.grams, a->grams, sizeof state.grams);
  amped_sweep s = {i + 1, fit, i > 0 ? fit - result->fit[i - 1] : NAN, a->noise, a->times, &state};
  amped_trace_begin(AMPED_PHASE_REPORT, AMPED_NO_NUMBER);
  if (options->after_sweep != NULL)
    status = options->after_sweep(options->context, &s);
  tell_noise(a, s.change, fit, options->tol);
  amped_trace_end();
  return status;
}

static amped_status sweeps(als *a, const amped_als_options *options) {
  while (a->result->sweeps < options->iters && !converged(a->result, options->tol))
    AMPED_TRY(next_sweep(a, options));
  a->result->stop_reason = converged(a->result, options->tol) ? "tolerance" : "iterations";
  return AMPED_OK;
}

/* The grams of the factors as they are, but for mode 0's, which comes first; or those of the state
 * to go on from, whose bits sums over the factors would not give again. */
static void begin(als *a, const amped_solver_state *start) {
  const size_t n = (size_t)a->context->plan->ncomps;
  if (start == NULL) {
    for (int m = 1; m < a->context->plan->order; m++)
      sum_gram(a, m, NULL);
    return;
  }
  for (int m = 0; m < a->context->plan->order; m++)
    memcpy(a->grams[m], start->grams[m], n * n * sizeof *a->grams[m]);
  memcpy(a->result->weights, start->weights, n * sizeof *start->weights);
  memcpy(a->result->fit, start->fit, (size_t)start->sweeps * sizeof *start->fit);
  a->result->sweeps = a->result->earlier = start->sweeps;
}

amped_status amped_cpd_als(const amped_context *context, const amped_als_options *options,
                           amped_als_result *result) {
  als a;
  memset(&a, 0, sizeof a);
  memset(result, 0, sizeof *result);
  a.context = context;
  a.result = result;
  a.told = options->noise_told;
  uint64_t most = options->iters;
  if (options->start != NULL && options->start->sweeps > most)
    most = options->start->sweeps;
  amped_status status = amped_comm_agree(context->comm, allocate(&a, most));
  if (status == AMPED_OK) {
    begin(&a, options->start);
    status = sweeps(&a, options);
  }
  release(&a);
  if (status != AMPED_OK)
    amped_als_result_free(result);
  return status;
}

void amped_als_result_free(amped_als_result *result) {
  amped_free(result->weights);
  amped_free(result->fit);
  memset(result, 0, sizeof *result);
}
