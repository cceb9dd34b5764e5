/* CP by Levenberg-Marquardt: gradient, conjugate gradients, and trial of a step. */
#include "solver/cpd/cpd_lm.h"

#include <math.h>
#include <string.h>

#include "base/log.h"
#include "base/buffers.h"
#include "base/timer.h"
#include "base/trace.h"
#include "plan/dense_passes.h"
#include "solver/fit.h"
#include "solver/mode_update.h"
#include "solver/normal_equations.h"
#include "solver/outcome.h"
#include "solver/unit_model.h"
#include "tensor/format.h"

/* Initial damping, and its bounds, relative to the largest diagonal entry of all V. */
#define FIRST_DAMPING 1e-3
#define LEAST_DAMPING 1e-14
#define MOST_DAMPING 1e8

/* If the residual falls by more than GOOD_GAIN of the predicted decrease, the damping is multiplied
 * by LONGER. After a refusal it is multiplied by SHORTER. */
#define GOOD_GAIN 0.75
#define LONGER 0.2
#define SHORTER 4.0

/* Conjugate gradients end when the residual, relative to the gradient, is at most SMALL, or after
 * ITERATIONS iterations. */
#define SMALL 1e-4
#define ITERATIONS 60

/* Smallest norm of a start relative to the tensor's, for starts that have nothing in common with
 * it. */
#define LEAST_SHARE 0.01

/* Numbers of a checkpoint. */
enum { DAMPING, ACCEPTED, REFUSED, LAST_REFUSED, NUMBERS };
#define MOST_SWEEPS 0x1p53

/* Vectors of rows. From one sweep to the next, PRODUCT holds the MTTKRP of mode 0. */
enum { GRADIENT, STEP, REST, DIRECTION, PRODUCT, VECTORS };

typedef struct lm {
  const amped_context *context;
  amped_solver_result *result;
  double tol;
  amped_fit fit;
  amped_row_vectors *vectors;
  amped_factor_history *history;
  amped_status own; /* this rank's first failure on which the ranks have not agreed yet */
  double numbers[NUMBERS];
  double part;                       /* |X - M|^2 / |X|^2 at x */
  double largest;                    /* largest diagonal entry of all V; set with the gradient */
  double steepness;                  /* length of the gradient */
  uint64_t passes;                   /* over a dense tensor, in this run */
  bool has_product;                  /* PRODUCT holds the MTTKRP of mode 0 */
  bool has_gradient;                 /* GRADIENT belongs to x */
  double *grams[AMPED_MAX_ORDER];    /* grams of unit columns */
  double *shared[AMPED_MAX_ORDER];   /* grams of x */
  double *inverse[AMPED_MAX_ORDER];  /* inverses of V + mu I */
  double *crosses;                   /* [order][ncomps][ncomps] cross grams */
  double *v, *w, *keep;              /* [ncomps][ncomps] */
  double *lengths, *others;          /* [ncomps] weights^(1 / order), and weights^(1 - 1 / order) */
  double *room;                      /* workspace, [2 ncomps] */
  double *kept_weights, *kept_grams; /* values at x, while a step is tried */
} lm;

/* --- the loop --------------------------------------------------------------------------------- */

static amped_status find_gradient(lm *a);
static amped_status solve(lm *a, uint64_t *iterations);
static amped_status try_step(lm *a, amped_sweep *s, double *mttkrp);
static void keep_part(lm *a, double value);

/* A model this far from the tensor has a gradient, unless its squares are too small for a double.
 */
#define FAR 1e-10

/* Refuse a gradient whose square is zero because the tensor's values are tiny, or not finite
 * because they are huge. */
static amped_status check_range(const lm *a) {
  const double square = a->context->plan->norm_squared;
  const bool small = !(a->steepness > 0.0) && a->part > FAR && square < 1e-100;
  const bool large = !isfinite(a->steepness) && square > 1e100;
  if (!small && !large)
    return AMPED_OK;
  return amped_error(AMPED_FAILED, NULL,
                     "--method=lm: the values are so %s (norm %.3g) that squares of the gradient "
                     "%s; scale the tensor's values",
                     large ? "large" : "small", sqrt(square), large ? "overflow" : "are 0");
}

/* A sweep, function by function:
 *   keep_part      the residual at x, from the recorded fit.
 *   find_gradient  MTTKRPs of all modes, unless x has not changed.
 *   solve          (H + mu I) STEP = -GRADIENT by conjugate gradients, H the Gauss-Newton matrix.
 *   try_step       x + STEP, if it fits better, with a smaller mu; else x, with a larger one.
 * Collective. The status is this rank's own. */
static amped_status sweep(void *self, amped_sweep *s) {
  lm *a = self;
  const double began = amped_time();
  double at = began;
  uint64_t iterations = 0;
  if (s->number > 1)
    keep_part(a, amped_solver_result_value(a->result));
  s->value = amped_fit_of_part(a->part);
  AMPED_TRY(amped_fit_check("the fit", a->part, "sweep", s->number));
  amped_trace_begin(AMPED_PHASE_MTTKRP, AMPED_NO_NUMBER);
  if (!a->has_gradient)
    AMPED_TRY(find_gradient(a));
  amped_trace_end();
  AMPED_TRY(check_range(a));
  AMPED_TRY(amped_fit_check("the gradient", a->steepness, "sweep", s->number));
  s->times.mttkrp = amped_time() - at;
  amped_fact(&s->facts, "mu", amped_json_number(a->numbers[DAMPING]), "  mu %.1e",
             a->numbers[DAMPING]);
  at = amped_time();
  amped_trace_begin(AMPED_PHASE_SOLVE, AMPED_NO_NUMBER);
  AMPED_TRY(solve(a, &iterations));
  amped_fact(&s->facts, "iterations", amped_json_count(iterations), ", %" PRIu64 " iterations",
             iterations);
  amped_trace_end();
  s->times.solve = amped_time() - at;
  AMPED_TRY(try_step(a, s, &s->times.mttkrp));
  s->times.total = amped_time() - began;
  return AMPED_OK;
}

static const char what[] = "a Levenberg-Marquardt step";

static const amped_row_vector_ops *vector_ops(const lm *a) {
  return a->context->worker->backend->row_vectors;
}

static const amped_factor_history_ops *history_ops(const lm *a) {
  return a->context->worker->backend->factor_histories;
}

static size_t area(const lm *a) {
  const size_t n = (size_t)a->context->plan->ncomps;
  return n * n;
}

/* Sum over ranks. The status is agreed, because any rank may have failed since the last sum. */
static amped_status sum_over_ranks(lm *a, double *values, int count) {
  return amped_comm_sum_agreed(a->context->comm, a->own, values, count);
}

/* Work of this rank only; a failure waits for the next sum over ranks. */
static void combine(lm *a, int mode, int to, const amped_row_term *terms, int count) {
  AMPED_NEXT(a->own, vector_ops(a)->combine(a->vectors, mode, to, terms, count));
}

/* --- life ------------------------------------------------------------------------------------- */

static amped_buffers buffers(lm *a, const amped_plan *plan) {
  amped_buffers b = {.what = what};
  const uint64_t n = (uint64_t)plan->ncomps;
  const uint64_t order = (uint64_t)plan->order;
  for (int m = 0; m < plan->order; m++) {
    AMPED_BUFFER(&b, ZEROED, a->grams[m], n * n);
    AMPED_BUFFER(&b, HOST, a->shared[m], n * n);
    AMPED_BUFFER(&b, HOST, a->inverse[m], n * n);
  }
  AMPED_BUFFER(&b, HOST, a->crosses, order * n * n);
  AMPED_BUFFER(&b, HOST, a->kept_grams, order * n * n);
  AMPED_BUFFER(&b, HOST, a->v, n * n);
  AMPED_BUFFER(&b, HOST, a->w, n * n);
  AMPED_BUFFER(&b, HOST, a->keep, n * n);
  AMPED_BUFFER(&b, HOST, a->lengths, n);
  AMPED_BUFFER(&b, HOST, a->others, n);
  AMPED_BUFFER(&b, HOST, a->room, 2 * n);
  AMPED_BUFFER(&b, HOST, a->kept_weights, n);
  return b;
}

void amped_cpd_lm_require(const amped_worker *worker, const amped_plan *plan,
                          uint64_t *device_bytes, uint64_t *host_bytes) {
  worker->backend->row_vectors->require(worker->device, plan, VECTORS, device_bytes, host_bytes);
  worker->backend->factor_histories->require(worker->device, plan, device_bytes, host_bytes);
  amped_buffers_require(buffers(&(lm){0}, plan), device_bytes, host_bytes);
}

static amped_status allocate(lm *a) {
  const amped_plan *plan = a->context->plan;
  const amped_worker *worker = a->context->worker;
  AMPED_TRY(amped_buffers_allocate(buffers(a, plan)));
  AMPED_TRY(vector_ops(a)->create(worker->device, worker->factors, plan, VECTORS, &a->vectors));
  return history_ops(a)->create(worker->device, worker->factors, plan, &a->history);
}

static void release(lm *a) {
  amped_buffers_free(buffers(a, a->context->plan));
  vector_ops(a)->destroy(a->vectors);
  history_ops(a)->destroy(a->history);
}

/* --- the model -------------------------------------------------------------------------------- */

/* Collective; the status is agreed, like the statuses of all functions below. Scale the columns of
 * mode's factor to unit length, in `rows` rows from `position` on. The weights are multiplied by
 * the old lengths. */
static amped_status make_unit(lm *a, int mode, uint64_t position, uint64_t rows) {
  const int n = a->context->plan->ncomps;
  AMPED_TRY(amped_unit_gram(a->context, mode, a->own, a->grams[mode]));
  a->own =
      amped_unit_columns(a->context, mode, position, rows, a->grams[mode], a->room, a->room + n);
  for (int r = 0; r < n; r++)
    a->result->weights[r] *= a->room[r];
  return AMPED_OK;
}

static void one_weights(lm *a) {
  for (int r = 0; r < a->context->plan->ncomps; r++)
    a->result->weights[r] = 1.0;
}

/* PRODUCT = MTTKRP of mode 0; *inner = <X, M>. */
static amped_status find_product(lm *a, double *inner) {
  const amped_row_term all = {AMPED_ROWS_OUTPUT, 1.0, NULL};
  const int n = a->context->plan->ncomps;
  amped_mttkrp_times times = {0.0, 0.0};
  AMPED_TRY(amped_mode_mttkrp(a->context, 0, &times));
  combine(a, 0, PRODUCT, &all, 1);
  AMPED_NEXT(a->own, vector_ops(a)->cross(a->vectors, 0, AMPED_ROWS_FACTOR, PRODUCT, a->v));
  *inner = 0.0;
  for (int r = 0; r < n; r++)
    *inner += a->result->weights[r] * a->v[r * n + r];
  AMPED_TRY(sum_over_ranks(a, inner, 1));
  a->has_product = true;
  return AMPED_OK;
}

static void count_passes(lm *a, uint64_t first, uint64_t end) {
  const amped_plan *plan = a->context->plan;
  if (a->context->worker->format->needs.cells)
    a->passes += amped_dense_count_passes(&plan->dense, plan->order, first, end);
}

/* Scale the start so that its residual is smallest. The status may be this rank's own. */
static amped_status scale_start(lm *a, double *noise) {
  const amped_plan *plan = a->context->plan;
  double inner = 0.0;
  double sizes = 0.0;
  one_weights(a);
  for (int m = 0; m < plan->order; m++)
    AMPED_TRY(make_unit(a, m, 0, amped_plan_factor_rows(plan, m)));
  AMPED_TRY(find_product(a, &inner));
  count_passes(a, 0, 1);
  const double square = amped_unit_norm_squared(plan, a->result->weights,
                                                (const double *const *)a->grams, a->v, &sizes);
  double scale = square > 0.0 ? inner / square : 0.0;
  scale = fmax(scale, square > 0.0 ? LEAST_SHARE * sqrt(plan->norm_squared / square) : 0.0);
  for (int r = 0; r < plan->ncomps; r++)
    a->result->weights[r] *= scale;
  return amped_fit_find(&a->fit, 0, (const double *const *)a->grams, scale * inner, a->own,
                        &a->part, noise);
}

/* --- the gradient ----------------------------------------------------------------------------- */

static void share_lengths(lm *a) {
  const amped_plan *plan = a->context->plan;
  const size_t n = (size_t)plan->ncomps;
  for (size_t r = 0; r < n; r++) {
    a->lengths[r] = pow(a->result->weights[r], 1.0 / plan->order);
    a->others[r] = pow(a->result->weights[r], 1.0 - 1.0 / plan->order);
  }
  for (int m = 0; m < plan->order; m++)
    for (size_t r = 0; r < n; r++)
      for (size_t s = 0; s < n; s++)
        a->shared[m][r * n + s] = a->grams[m][r * n + s] * a->lengths[r] * a->lengths[s];
}

/* Multiply the matrix's rows by the lengths: unit columns times the result equal x times the old
 * matrix. */
static void from_unit(const lm *a, double *matrix) {
  const size_t n = (size_t)a->context->plan->ncomps;
  for (size_t r = 0; r < n; r++)
    for (size_t s = 0; s < n; s++)
      matrix[r * n + s] *= a->lengths[r];
}

static void put_diagonal(const lm *a, const double *from, double *matrix) {
  const size_t n = (size_t)a->context->plan->ncomps;
  memset(matrix, 0, n * n * sizeof *matrix);
  for (size_t r = 0; r < n; r++)
    matrix[r * n + r] = from[r];
}

/* Compute mode's rows of GRADIENT. product: the vector that holds mode's MTTKRP. */
static void find_mode_gradient(lm *a, int mode, int product) {
  const amped_plan *plan = a->context->plan;
  const size_t n = (size_t)plan->ncomps;
  amped_hadamard(plan->order, plan->ncomps, (const double *const *)a->shared, mode, a->v);
  for (size_t r = 0; r < n; r++)
    a->largest = fmax(a->largest, a->v[r * n + r]);
  from_unit(a, a->v);
  put_diagonal(a, a->others, a->w);
  const amped_row_term terms[] = {{AMPED_ROWS_FACTOR, 1.0, a->v}, {product, -1.0, a->w}};
  combine(a, mode, GRADIENT, terms, 2);
}

static amped_status dot(lm *a, int x, int y, double *sum) {
  *sum = 0.0;
  AMPED_NEXT(a->own, vector_ops(a)->dot(a->vectors, x, y, sum));
  return sum_over_ranks(a, sum, 1);
}

static amped_status find_gradient(lm *a) {
  const amped_plan *plan = a->context->plan;
  amped_mttkrp_times times = {0.0, 0.0};
  double inner = 0.0;
  share_lengths(a);
  a->largest = 0.0;
  if (!a->has_product) {
    AMPED_TRY(find_product(a, &inner));
    count_passes(a, 0, 1);
  }
  find_mode_gradient(a, 0, PRODUCT);
  for (int m = 1; m < plan->order; m++) {
    AMPED_TRY(amped_mode_mttkrp(a->context, m, &times));
    find_mode_gradient(a, m, AMPED_ROWS_OUTPUT);
  }
  count_passes(a, 0, (uint64_t)plan->order);
  a->passes -= a->context->worker->format->needs.cells ? 1 : 0; /* mode 0 came with its product */
  a->has_product = false;
  a->has_gradient = true;
  AMPED_TRY(dot(a, GRADIENT, GRADIENT, &a->steepness));
  a->steepness = sqrt(a->steepness);
  if (!(a->numbers[DAMPING] > 0.0))
    a->numbers[DAMPING] = FIRST_DAMPING * a->largest;
  return AMPED_OK;
}

/* --- conjugate gradients ---------------------------------------------------------------------- */

/* Invert V + mu I of each mode. The result is the same on all ranks, unless a rank has too little
 * memory. */
static amped_status invert(lm *a) {
  const amped_plan *plan = a->context->plan;
  const size_t n = (size_t)plan->ncomps;
  for (int m = 0; m < plan->order; m++) {
    bool singular = false;
    amped_hadamard(plan->order, plan->ncomps, (const double *const *)a->shared, m, a->v);
    for (size_t r = 0; r < n; r++)
      a->v[r * n + r] += a->numbers[DAMPING];
    AMPED_TRY(amped_inverse(plan->ncomps, AMPED_F64, a->v, a->inverse[m], a->keep, &singular));
  }
  return AMPED_OK;
}

static void precondition(lm *a) {
  for (int m = 0; m < a->context->plan->order; m++) {
    const amped_row_term term = {REST, 1.0, a->inverse[m]};
    combine(a, m, PRODUCT, &term, 1);
  }
}

/* a->w = matrix by which unit rows of mode enter J'J times DIRECTION. It is the sum, over other
 * modes, of the Hadamard product of the mode's cross gram and all remaining grams. */
static void mix(lm *a, int mode) {
  const amped_plan *plan = a->context->plan;
  const size_t n = (size_t)plan->ncomps;
  memset(a->w, 0, n * n * sizeof *a->w);
  for (int m = 0; m < plan->order; m++) {
    if (m == mode)
      continue;
    const double *cross = a->crosses + (size_t)m * n * n; /* DIRECTION' times x */
    for (size_t r = 0; r < n; r++)
      for (size_t s = 0; s < n; s++) {
        double product = cross[r * n + s];
        for (int k = 0; k < plan->order; k++)
          if (k != mode && k != m)
            product *= a->shared[k][r * n + s];
        a->w[r * n + s] += product;
      }
  }
  from_unit(a, a->w);
}

/* PRODUCT = (J'J + mu I) DIRECTION. */
static amped_status multiply(lm *a) {
  const amped_plan *plan = a->context->plan;
  const size_t n = (size_t)plan->ncomps;
  for (int m = 0; m < plan->order; m++) {
    double *cross = a->crosses + (size_t)m * n * n;
    AMPED_NEXT(a->own, vector_ops(a)->cross(a->vectors, m, DIRECTION, AMPED_ROWS_FACTOR, cross));
    for (size_t r = 0; r < n; r++)
      for (size_t s = 0; s < n; s++)
        cross[r * n + s] *= a->lengths[s];
  }
  AMPED_TRY(sum_over_ranks(a, a->crosses,
                           amped_comm_count(a->context->comm, (uint64_t)plan->order * n * n)));
  for (int m = 0; m < plan->order; m++) {
    mix(a, m);
    amped_hadamard(plan->order, plan->ncomps, (const double *const *)a->shared, m, a->v);
    for (size_t r = 0; r < n; r++)
      a->v[r * n + r] += a->numbers[DAMPING];
    const amped_row_term terms[] = {{DIRECTION, 1.0, a->v}, {AMPED_ROWS_FACTOR, 1.0, a->w}};
    combine(a, m, PRODUCT, terms, 2);
  }
  return AMPED_OK;
}

/* to = by * to + other * from. */
static void add(lm *a, int to, double by, int from, double other) {
  const amped_row_term terms[] = {{to, by, NULL}, {from, other, NULL}};
  for (int m = 0; m < a->context->plan->order; m++)
    combine(a, m, to, terms, 2);
}

static void set(lm *a, int to, int from, double by) {
  const amped_row_term term = {from, by, NULL};
  for (int m = 0; m < a->context->plan->order; m++)
    combine(a, m, to, &term, by != 0.0 ? 1 : 0);
}

/* Find STEP by conjugate gradients; REST = the residual of its equations. */
static amped_status solve(lm *a, uint64_t *iterations) {
  double slope = 0.0; /* inner product of REST and its preconditioned form */
  double rest = 0.0;
  AMPED_NEXT(a->own, invert(a));
  set(a, STEP, GRADIENT, 0.0);
  set(a, REST, GRADIENT, -1.0);
  precondition(a);
  set(a, DIRECTION, PRODUCT, 1.0);
  AMPED_TRY(dot(a, REST, PRODUCT, &slope));
  for (*iterations = 0; *iterations < ITERATIONS && slope > 0.0;) {
    double curvature = 0.0;
    double next = 0.0;
    AMPED_TRY(multiply(a));
    AMPED_TRY(dot(a, DIRECTION, PRODUCT, &curvature));
    if (!(curvature > 0.0))
      break;
    add(a, STEP, 1.0, DIRECTION, slope / curvature);
    add(a, REST, 1.0, PRODUCT, -slope / curvature);
    (*iterations)++;
    AMPED_TRY(dot(a, REST, REST, &rest));
    if (sqrt(rest) <= SMALL * a->steepness)
      break;
    precondition(a);
    AMPED_TRY(dot(a, REST, PRODUCT, &next));
    add(a, DIRECTION, next / slope, PRODUCT, 1.0);
    slope = next;
  }
  return AMPED_OK;
}

/* *fall = decrease of |X - M|^2 / 2 by STEP, predicted by the Gauss-Newton model: -g z - z J'J z /
 * 2, with (J'J + mu I) z = -g - REST. */
static amped_status foretell(lm *a, double *fall) {
  double slope = 0.0;
  double rest = 0.0;
  double square = 0.0;
  AMPED_TRY(dot(a, GRADIENT, STEP, &slope));
  AMPED_TRY(dot(a, REST, STEP, &rest));
  AMPED_TRY(dot(a, STEP, STEP, &square));
  *fall = (-slope + rest + a->numbers[DAMPING] * square) / 2.0;
  return AMPED_OK;
}

/* --- parts of a sweep ------------------------------------------------------------------------- */

/* Combine current and previous factors, in all modes and columns, with the coefficients now and
 * then (factor_history.h). */
static void change_history(lm *a, double now, double then) {
  const int n = a->context->plan->ncomps;
  for (int r = 0; r < n; r++) {
    a->room[r] = now;
    a->room[n + r] = then;
  }
  for (int m = 0; m < a->context->plan->order; m++)
    AMPED_NEXT(a->own, history_ops(a)->step(a->history, m, a->room, a->room + n, false));
}

/* Move the factors to x + STEP, with unit columns. The previous factors keep x. */
static amped_status move(lm *a) {
  const amped_row_term terms[] = {{AMPED_ROWS_FACTOR, 1.0, NULL}, {STEP, 1.0, NULL}};
  const amped_context *context = a->context;
  const amped_plan *plan = context->plan;
  const amped_worker *worker = context->worker;
  change_history(a, 1.0, 0.0);
  memcpy(a->kept_weights, a->result->weights, (size_t)plan->ncomps * sizeof(double));
  for (int m = 0; m < plan->order; m++)
    memcpy(a->kept_grams + (size_t)m * area(a), a->grams[m], area(a) * sizeof(double));
  one_weights(a);
  for (int m = 0; m < plan->order; m++) {
    const uint64_t block = plan->modes[m].rows.block_rows;
    const uint64_t position = (uint64_t)plan->rank * block;
    AMPED_NEXT(a->own,
               worker->backend->factors->scale(worker->factors, m, position, block, a->lengths));
    combine(a, m, AMPED_ROWS_FACTOR, terms, 2);
    AMPED_TRY(make_unit(a, m, position, block));
    AMPED_ALSO(a->own, amped_exchange_rows(context->exchange, m));
  }
  return AMPED_OK;
}

static void move_back(lm *a) {
  const amped_plan *plan = a->context->plan;
  change_history(a, 0.0, 1.0);
  memcpy(a->result->weights, a->kept_weights, (size_t)plan->ncomps * sizeof(double));
  for (int m = 0; m < plan->order; m++)
    memcpy(a->grams[m], a->kept_grams + (size_t)m * area(a), area(a) * sizeof(double));
  a->has_product = false;
}

static void accept(lm *a, double part, double foretold) {
  const double fall = (a->part - part) * a->context->plan->norm_squared / 2.0;
  a->numbers[ACCEPTED]++;
  a->numbers[LAST_REFUSED] = 0.0;
  if (fall > GOOD_GAIN * foretold)
    a->numbers[DAMPING] = fmax(LONGER * a->numbers[DAMPING], LEAST_DAMPING * a->largest);
  a->has_gradient = false;
}

static void refuse(lm *a) {
  a->numbers[REFUSED]++;
  a->numbers[LAST_REFUSED] = 1.0;
  a->numbers[DAMPING] *= SHORTER;
  move_back(a);
}

/* Try x + STEP; if it is no better, return to x. The status may be this rank's own, because the
 * sweep ends here. */
static amped_status try_step(lm *a, amped_sweep *s, double *mttkrp) {
  const double began = amped_time();
  double foretold = 0.0;
  double part = 0.0;
  double inner = 0.0;
  AMPED_TRY(foretell(a, &foretold));
  AMPED_TRY(move(a));
  const double at = amped_time();
  AMPED_TRY(find_product(a, &inner));
  count_passes(a, 0, 1);
  *mttkrp += amped_time() - at;
  s->times.solve += at - began;
  amped_trace_begin(AMPED_PHASE_FIT, (int64_t)s->number);
  AMPED_ALSO(a->own, amped_fit_find(&a->fit, s->number, (const double *const *)a->grams, inner,
                                    a->own, &part, &s->noise));
  amped_trace_end();
  const bool refused = !(part < a->part);
  amped_fact(&s->facts, "refused", json_boolean(refused), "%s", refused ? ", refused" : "");
  if (refused) {
    refuse(a);
    return a->own;
  }
  accept(a, part, foretold);
  s->value = amped_fit_of_part(part);
  return a->own;
}

/* Compute the residual at x from the recorded metric, as a resumed run does. */
static void keep_part(lm *a, double value) {
  a->part = (1.0 - value) * (1.0 - value);
}

static const char *stop(const void *self) {
  const lm *a = self;
  if (a->result->sweeps == 0)
    return NULL;
  if (a->has_gradient && !(a->steepness > 0.0))
    return "the gradient is zero";
  if (a->numbers[LAST_REFUSED] > 0.0)
    return a->has_gradient && a->numbers[DAMPING] > MOST_DAMPING * a->largest ? "no step is better"
                                                                              : NULL;
  return amped_solver_result_has_converged(a->result, a->tol) ? "tolerance" : NULL;
}

static void view(const void *self, amped_solver_state *state) {
  const lm *a = self;
  state->weights = a->result->weights;
  memcpy(state->grams, a->grams, sizeof state->grams);
  state->numbers = (double *)a->numbers;
  state->number_count = NUMBERS;
}

static amped_status finish(void *self, double *value) {
  return amped_fit_finish(&((lm *)self)->fit, value);
}

static void tell(const void *self, amped_facts *facts) {
  const lm *a = self;
  amped_outcome_steps(facts, NULL, a->numbers[ACCEPTED], a->numbers[REFUSED]);
  if (a->context->worker->format->needs.cells)
    amped_outcome_passes(facts, a->result, (double)a->passes, NULL, 0.0);
}

const amped_solver amped_cpd_lm_solver = {.metric = "fit",
                                          .facts_name = "step",
                                          .has_grams = true,
                                          .has_numbers = true,
                                          .sweep = sweep,
                                          .view = view,
                                          .stop = stop,
                                          .finish = finish,
                                          .tell = tell};

/* --- running ---------------------------------------------------------------------------------- */

/* Check the numbers, which come from a file. */
static amped_status check_numbers(const amped_solver_state *start) {
  bool wrong = start->number_count != NUMBERS;
  for (uint64_t i = 0; i < start->number_count && !wrong; i++)
    wrong = !(start->numbers[i] >= 0.0) || !isfinite(start->numbers[i]);
  wrong = wrong || !(start->numbers[ACCEPTED] <= MOST_SWEEPS) ||
          !(start->numbers[REFUSED] <= MOST_SWEEPS);
  return wrong ? amped_error(AMPED_BAD_INPUT, start->file,
                             "does not fit --method=lm; name another file with --checkpoint")
               : AMPED_OK;
}

/* Collective; the status is agreed. */
static amped_status begin(lm *a, const amped_solver_state *start) {
  double noise = 0.0;
  amped_status status = AMPED_OK;
  if (start == NULL)
    return amped_comm_agree(a->context->comm, scale_start(a, &noise));
  status = check_numbers(start);
  AMPED_TRY(amped_comm_agree(a->context->comm, status));
  memcpy(a->numbers, start->numbers, sizeof a->numbers);
  for (int m = 0; m < a->context->plan->order; m++)
    memcpy(a->grams[m], start->grams[m], area(a) * sizeof(double));
  return AMPED_OK;
}

amped_status amped_cpd_lm(const amped_context *context, const amped_iterate_options *options,
                          amped_solver_result *result) {
  lm a = {.context = context, .result = result, .tol = options->tol};
  amped_status status = amped_solver_result_create(context, &amped_cpd_lm_solver, options, result);
  if (status == AMPED_OK)
    status = allocate(&a);
  a.fit = (amped_fit){.context = context, .result = result, .v = a.v};
  status = amped_comm_agree(context->comm, status);
  if (status == AMPED_OK)
    status = begin(&a, options->start);
  if (status == AMPED_OK)
    status = amped_iterate(context, &amped_cpd_lm_solver, &a, options, result);
  release(&a);
  if (status != AMPED_OK)
    amped_solver_result_free(result);
  return status;
}
