/* Gap errors: normal equations of all rows, by one pass over the entries, and one Cholesky
 * factorisation a row. */
#include "solver/complete/gap_errors.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/buffers.h"
#include "solver/complete/own_rows.h"
#include "solver/complete/row_counts.h"

extern void dpotrf_(const char *uplo, const int *n, double *a, const int *lda, int *info);
extern void dpotrs_(const char *uplo, const int *n, const int *nrhs, const double *a,
                    const int *lda, double *b, const int *ldb, int *info);
extern void dtrmm_(const char *side, const char *uplo, const char *transposed, const char *unit,
                   const int *m, const int *n, const double *alpha, const double *a, const int *lda,
                   double *b, const int *ldb);

/* Least observed share of all cells. */
#define LEAST_OBSERVED (1.0 / 16.0)
/* Most bytes of all rows' equations: in all, or for each known cell. */
#define MOST_BYTES 0x1p28
#define CELL_BYTES 16.0
/* Rows that are taken together. */
#define ROWS UINT64_C(16)
/* Numbers per message; MPI counts them in an int. */
#define MESSAGE (UINT64_C(1) << 24)

static const char what[] = "the errors of gaps";

/* Workspace. A row's unknowns are its components and, with biases, its bias: width numbers. */
typedef struct work {
  const amped_context *context;
  const amped_complete_problem *problem;
  double variance; /* s^2, as the fit scales values */
  amped_own_rows own;
  uint64_t width, length;         /* unknowns of a row; numbers of its equations */
  uint64_t rows[AMPED_MAX_ORDER]; /* known rows of each mode */
  /* [width][width] sums over known rows, then the sum of weights: of products, whose bias counts as
   * 1; and of rows weighted by known cells, then lower triangles of their spread. */
  double *grams[AMPED_MAX_ORDER], *spreads[AMPED_MAX_ORDER];
  double *listed[AMPED_MAX_ORDER]; /* known cells of each row, by position */
  double *all;       /* [width][width] spread^T (sum of p p^T over all cells of a row) spread */
  double cells;      /* number of these cells */
  double *factors;   /* [ROWS][ncomps] */
  void *equations;   /* [ROWS][length] of the plan's value type */
  void *store_rows;  /* [ROWS][ncomps] factors of the store, which are not used */
  uint64_t *touched; /* [ROWS] */
  double *matrices;  /* [ROWS][2][width][width] */
} work;

static uint64_t width_of(const amped_plan *plan) {
  return (uint64_t)plan->ncomps; /* the bias is the last column */
}

static double epsilon_of(const amped_plan *plan) {
  return plan->value_type == AMPED_F32 ? (double)FLT_EPSILON : DBL_EPSILON;
}

static amped_buffers buffers(const amped_plan *plan, uint64_t length, work *w) {
  const uint64_t n = width_of(plan);
  const uint64_t size = (uint64_t)plan->value_type; /* bytes */
  amped_buffers b = {.what = what};
  for (int m = 0; m < plan->order; m++)
    AMPED_BUFFER(&b, ZEROED, w->grams[m], n * n + 1);
  for (int m = 0; m < plan->order; m++)
    AMPED_BUFFER(&b, ZEROED, w->spreads[m], n * n + 1);
  for (int m = 0; m < plan->order; m++)
    AMPED_BUFFER(&b, ZEROED, w->listed[m], amped_plan_factor_rows(plan, m));
  AMPED_BUFFER(&b, HOST, w->all, n * n);
  AMPED_BUFFER(&b, HOST, w->factors, ROWS * n);
  AMPED_BUFFER_OF(&b, HOST, w->equations, ROWS * length, size);
  AMPED_BUFFER_OF(&b, HOST, w->store_rows, ROWS * n, size);
  AMPED_BUFFER(&b, HOST, w->touched, ROWS);
  AMPED_BUFFER(&b, HOST, w->matrices, ROWS * 2 * n * n);
  return b;
}

static amped_buffers out_buffers(const amped_plan *plan, amped_gap_errors *out) {
  amped_buffers b = {.what = what};
  for (int m = 0; m < plan->order; m++) {
    AMPED_BUFFER(&b, ZEROED, out->rmse[m], plan->dims[m]);
    AMPED_BUFFER(&b, ZEROED, out->known[m], plan->dims[m]);
    AMPED_BUFFER(&b, ZEROED, out->cells[m], plan->dims[m]);
  }
  return b;
}

bool amped_gap_errors_apply(const amped_plan *plan, const amped_complete_options *options,
                            int components, bool biased) {
  double cells = 1.0;
  double rows = 0.0;
  for (int m = 0; m < plan->order; m++) {
    cells *= (double)plan->dims[m];
    rows += (double)plan->dims[m];
  }
  const double bytes =
      rows * (double)amped_equation_length(components, biased) * (double)plan->value_type;
  return !(options->implicit > 0.0) && bytes <= fmax(MOST_BYTES, CELL_BYTES * (double)plan->nnz) &&
         (double)plan->nnz > LEAST_OBSERVED * cells &&
         ((double)plan->nnz < cells || options->weights != NULL);
}

void amped_gap_errors_require(const amped_worker *worker, const amped_plan *plan, bool biased,
                              uint64_t *device_bytes, uint64_t *host_bytes) {
  const uint64_t length = amped_own_rows_equations(plan, biased);
  amped_own_rows_require(worker, plan, length, device_bytes, host_bytes);
  *host_bytes += amped_buffers_bytes(buffers(plan, length, &(work){0})) +
                 amped_buffers_bytes(out_buffers(plan, &(amped_gap_errors){0})) +
                 amped_row_counts_bytes(plan);
}

void amped_gap_errors_free(amped_gap_errors *errors) {
  for (int m = 0; m < AMPED_MAX_ORDER; m++) {
    amped_free(errors->rmse[m]);
    amped_free(errors->known[m]);
    amped_free(errors->cells[m]);
  }
  memset(errors, 0, sizeof *errors);
}

/* --- rows of a block ---------------------------------------------------------------------------
 */

/* Own rows of a mode, `first` to first + count of the block: their equations and factors. */
static amped_status get_rows(work *w, int mode, uint64_t first, uint64_t count) {
  const amped_plan *plan = w->context->plan;
  const amped_worker *worker = w->context->worker;
  const uint64_t begin = (uint64_t)plan->rank * plan->modes[mode].rows.block_rows;
  AMPED_TRY(w->own.ops->get(w->own.store, mode, count, w->own.places + first, w->store_rows,
                            w->equations, w->touched));
  return worker->backend->factors->get_rows(worker->factors, mode, begin + first, count,
                                            w->factors);
}

/* Number k of row i's equations. */
static double equation(const work *w, uint64_t i, uint64_t k) {
  return amped_value_get(w->equations, w->context->plan->value_type, i * w->length + k);
}

static int components_of(const work *w) {
  return (int)w->width - (w->problem->fit.biased ? 1 : 0);
}

/* n of row i. */
static double count_of(const work *w, uint64_t i) {
  const uint64_t r = (uint64_t)components_of(w);
  return equation(w, i, r * (r + 1) / 2 + (w->problem->fit.biased ? r : 0));
}

/* Fill h with row i's matrix, without penalties: H and, with biases, h and n. Both triangles. */
static void fill_matrix(const work *w, uint64_t i, double *h) {
  const uint64_t n = w->width;
  const uint64_t r = (uint64_t)components_of(w);
  uint64_t at = 0;
  for (uint64_t a = 0; a < r; a++)
    for (uint64_t b = 0; b <= a; b++)
      h[a * n + b] = h[b * n + a] = equation(w, i, at++);
  if (n == r)
    return;
  for (uint64_t b = 0; b < n; b++) /* h, then n */
    h[r * n + b] = h[b * n + r] = equation(w, i, at++);
}

/* --- known rows --------------------------------------------------------------------------------
 */

/* Add a known row: its product, with 1 for the bias, to gram; and count times its square to spread.
 */
static void add_row(const work *w, const double *row, double count, double *gram, double *spread) {
  const uint64_t n = w->width;
  const uint64_t r = (uint64_t)components_of(w);
  for (uint64_t a = 0; a < n; a++)
    for (uint64_t b = 0; b < n; b++) {
      gram[a * n + b] += (a < r ? row[a] : 1.0) * (b < r ? row[b] : 1.0);
      spread[a * n + b] += count * row[a] * row[b];
    }
  gram[n * n] += 1.0;
  spread[n * n] += count;
}

static amped_status add_own(work *w, int mode) {
  const amped_plan *plan = w->context->plan;
  const uint64_t own = plan->modes[mode].rows.rank_rows[plan->rank];
  for (uint64_t first = 0; first < own; first += ROWS) {
    const uint64_t count = own - first < ROWS ? own - first : ROWS;
    AMPED_TRY(get_rows(w, mode, first, count));
    for (uint64_t i = 0; i < count; i++)
      if (count_of(w, i) > 0.0)
        add_row(w, w->factors + i * w->width, count_of(w, i), w->grams[mode], w->spreads[mode]);
  }
  return AMPED_OK;
}

/* Turn sums of squares into the triangle T of C = T T^T, half of C on the diagonal alone. In
 * LAPACK's order of entries T is the lower triangle, and its upper one is 0. A component of zeros
 * has no spread, except a trace that keeps C positive definite. */
static void factor_spread(uint64_t width, double *spread) {
  const int n = (int)width;
  double most = 0.0;
  int info = 0;
  for (uint64_t a = 0; a < width; a++)
    for (uint64_t b = 0; b < width; b++)
      spread[a * width + b] *= (a == b ? 1.0 : 0.5) / spread[width * width];
  for (uint64_t a = 0; a < width; a++)
    most = fmax(most, spread[a * width + a]);
  for (uint64_t a = 0; a < width; a++)
    spread[a * width + a] += most * DBL_EPSILON + DBL_MIN;
  dpotrf_("L", &n, spread, &n, &info);
  for (uint64_t column = 0; column < width; column++)
    for (uint64_t row = 0; row < column; row++)
      spread[column * width + row] = 0.0;
}

/* Collective; the status is agreed. Find grams and spreads of known rows over all ranks. */
static amped_status find_moments(work *w) {
  const uint64_t n = w->width;
  const int count = (int)(n * n + 1);
  for (int m = 0; m < w->context->plan->order; m++) {
    AMPED_TRY(amped_comm_sum_agreed(w->context->comm, add_own(w, m), w->grams[m], count));
    amped_comm_sum(w->context->comm, w->spreads[m], count);
    w->rows[m] = (uint64_t)w->grams[m][n * n];
    factor_spread(n, w->spreads[m]);
  }
  return AMPED_OK;
}

/* matrix = T^T matrix T, with the triangle T of the mode's spread. */
static void turn(const work *w, int mode, double *matrix) {
  const int n = (int)w->width;
  const double one = 1.0;
  dtrmm_("L", "L", "T", "N", &n, &n, &one, w->spreads[mode], &n, matrix, &n);
  dtrmm_("R", "L", "N", "N", &n, &n, &one, w->spreads[mode], &n, matrix, &n);
}

/* Sum of p p^T over all cells of a row of `mode`: all combinations of the other modes' known rows.
 */
static void find_all(work *w, int mode) {
  const uint64_t n = w->width * w->width;
  w->cells = 1.0;
  for (uint64_t k = 0; k < n; k++)
    w->all[k] = 1.0;
  for (int m = 0; m < w->context->plan->order; m++) {
    if (m == mode)
      continue;
    w->cells *= (double)w->rows[m];
    for (uint64_t k = 0; k < n; k++)
      w->all[k] *= w->grams[m][k];
  }
  turn(w, mode, w->all);
}

/* Collective. */
static void sum_over_ranks(const amped_comm *comm, double *values, uint64_t count) {
  for (uint64_t i = 0; i < count; i += MESSAGE)
    amped_comm_sum(comm, values + i, (int)(count - i < MESSAGE ? count - i : MESSAGE));
}

/* Count the known cells of a slab. A cell of weight 0 is unknown. */
static void count_slab(void *self, const amped_nonzero_slab *slab, uint64_t count) {
  const work *w = self;
  for (int m = 0; m < w->context->plan->order; m++)
    for (uint64_t k = 0; k < count; k++)
      w->listed[m][slab->positions[m][k]] += slab->weights[k] > 0.0 ? 1.0 : 0.0;
}

/* Collective; the status is agreed. */
static amped_status find_listed(work *w) {
  const amped_plan *plan = w->context->plan;
  AMPED_TRY(amped_nonzeros_walk(w->context, count_slab, w));
  for (int m = 0; m < plan->order; m++)
    sum_over_ranks(w->context->comm, w->listed[m], amped_plan_factor_rows(plan, m));
  return AMPED_OK;
}

/* --- errors ------------------------------------------------------------------------------------
 */

/* trace(gaps * known^-1); both matrices are overwritten. */
static double trace_of(int n, double *known, double *gaps) {
  double trace = 0.0;
  int info = 0;
  dpotrf_("L", &n, known, &n, &info);
  dpotrs_("L", &n, &n, known, &n, gaps, &n, &info);
  for (int a = 0; a < n; a++)
    trace += gaps[a * n + a];
  return trace;
}

/* Expected squared error of the gaps of row i of those that are held, as the fit scales values; 0:
 * it has no learnt cell, or no gap beside its `listed` known cells. With a = T z, the squares of z
 * are 1 before known cells are seen. The sums of known cells are rounded by R eps, which is added
 * to their diagonal. */
static double square_of(const work *w, int mode, uint64_t i, double listed) {
  const uint64_t n = w->width;
  const bool weighted = w->problem->weights_hash != 0;
  const double count = count_of(w, i);
  const double cells = weighted ? w->cells : w->cells - count;
  const double rounding = (double)n * epsilon_of(w->context->plan);
  double *known = w->matrices + i * 2 * n * n;
  double *gaps = known + n * n;
  if (!(count > 0.0) || cells < 0.5 || listed > w->cells - 0.5)
    return 0.0;
  fill_matrix(w, i, known);
  for (uint64_t a = 0; a < n; a++)
    known[a * n + a] *= 1.0 + rounding;
  turn(w, mode, known);
  for (uint64_t k = 0; k < n * n; k++) {
    gaps[k] = w->all[k] - (weighted ? 0.0 : known[k]);
    known[k] /= w->variance;
  }
  for (uint64_t a = 0; a < n; a++)
    known[a * n + a] += 1.0;
  return fmax(trace_of((int)n, known, gaps), 0.0) / cells;
}

/* Own rows of a mode: expected errors and counts by place in the block. */
static amped_status find_own(work *w, int mode, double *rmse, double *known) {
  const amped_plan *plan = w->context->plan;
  const double *listed = w->listed[mode] + (uint64_t)plan->rank * plan->modes[mode].rows.block_rows;
  const uint64_t own = plan->modes[mode].rows.rank_rows[plan->rank];
  const bool fixed = amped_fixed_modes_has(&w->problem->fixed, mode);
  for (uint64_t first = 0; first < own; first += ROWS) {
    const uint64_t count = own - first < ROWS ? own - first : ROWS;
    AMPED_TRY(get_rows(w, mode, first, count));
#pragma omp parallel for schedule(dynamic)
    for (uint64_t i = 0; i < count; i++) {
      rmse[first + i] =
          fixed ? 0.0 : w->problem->scale * sqrt(square_of(w, mode, i, listed[first + i]));
      known[first + i] = count_of(w, i);
    }
  }
  return AMPED_OK;
}

/* Put values by place into values by index. */
static void spread(const amped_plan *plan, int mode, const double *own, double *out) {
  const amped_row_plan *rows = &plan->modes[mode].rows;
  const uint64_t begin = (uint64_t)plan->rank * rows->block_rows;
  for (uint64_t idp = 0; idp < rows->idp_count; idp++)
    for (uint64_t i = idp * rows->width;
         rows->owner[idp] == plan->rank && i < (idp + 1) * rows->width && i < rows->dim; i++)
      out[i] = own[amped_plan_position(plan, mode, i) - begin];
}

static amped_status find_mode(work *w, int mode, amped_gap_errors *out) {
  const amped_plan *plan = w->context->plan;
  const uint64_t block = plan->modes[mode].rows.block_rows;
  double *own = NULL;
  find_all(w, mode);
  for (uint64_t i = 0; i < plan->dims[mode]; i++)
    out->cells[mode][i] = w->listed[mode][amped_plan_position(plan, mode, i)];
  AMPED_TRY(amped_alloc(&own, 2 * block, sizeof *own, what));
  const amped_status status = find_own(w, mode, own, own + block);
  if (status == AMPED_OK) {
    spread(plan, mode, own, out->rmse[mode]);
    spread(plan, mode, own + block, out->known[mode]);
  }
  amped_free(own);
  return status;
}

static amped_status find_modes(work *w, amped_gap_errors *out) {
  const amped_plan *plan = w->context->plan;
  amped_status status = AMPED_OK;
  for (int m = 0; m < plan->order; m++)
    AMPED_NEXT(status, find_mode(w, m, out));
  AMPED_TRY(amped_comm_agree(w->context->comm, status));
  for (int m = 0; m < plan->order; m++) {
    sum_over_ranks(w->context->comm, out->rmse[m], plan->dims[m]);
    sum_over_ranks(w->context->comm, out->known[m], plan->dims[m]);
  }
  return AMPED_OK;
}

static amped_status make_room(work *w, amped_gap_errors *out) {
  const amped_plan *plan = w->context->plan;
  AMPED_TRY(amped_own_rows_create(w->context, w->length, &w->own));
  AMPED_TRY(amped_buffers_allocate(out_buffers(plan, out)));
  return amped_buffers_allocate(buffers(plan, w->length, w));
}

amped_status amped_gap_errors_find(const amped_context *context,
                                   const amped_complete_problem *problem, double error,
                                   amped_gap_errors *out) {
  const amped_plan *plan = context->plan;
  const double least = epsilon_of(plan); /* smallest s: an exact fit has the error of rounding */
  work w = {.context = context,
            .problem = problem,
            .variance = fmax(least * least, error * error / (problem->scale * problem->scale)),
            .width = width_of(plan),
            .length = amped_own_rows_equations(plan, problem->fit.biased)};
  amped_status status = AMPED_OK;
  memset(out, 0, sizeof *out);
  AMPED_GO(done, amped_comm_agree(context->comm, make_room(&w, out)));
  AMPED_GO(done, amped_own_rows_absorb(&w.own, context, problem->options, &problem->fit));
  AMPED_GO(done, find_moments(&w));
  AMPED_GO(done, find_listed(&w));
  status = find_modes(&w, out);
done:
  amped_own_rows_free(&w.own);
  amped_buffers_free(buffers(plan, w.length, &w));
  if (status != AMPED_OK)
    amped_gap_errors_free(out);
  return status;
}
