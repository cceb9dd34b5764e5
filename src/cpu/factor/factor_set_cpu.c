/* Factor set: one rank's factors in host memory. Twin of cuda/factor/factor_set_cuda.cu. */
#include <cblas.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/random.h"
#include "cpu/device/device_cpu.h"
#include "base/buffers.h"
#include "cpu/factor/row_descent_cpu.h"

/* Rows that a thread converts to double and multiplies at a time. */
#define DENSE_ROWS 256

struct amped_factor_set {
  const amped_plan *plan;
  amped_factor_set *of; /* the set whose memory a view uses; else NULL */
  uint64_t first, ld;   /* first column; elements from row to row */
  int threads;
  void *factors[AMPED_MAX_ORDER];
  void *output;
  double *dense; /* workspace of dense operations: [threads][dense_elements] */
  uint64_t dense_elements;
  uint64_t clock; /* number of changes of factors so far */
  uint64_t versions[AMPED_MAX_ORDER];
};

/* Record a change of mode's factor. */
static void touch(amped_factor_set *f, int mode) {
  amped_factor_set *const owner = f->of != NULL ? f->of : f;
  owner->versions[mode] = ++owner->clock;
}

/* Doubles of dense workspace per thread: rows in, rows out, a gram. A multiple of 64 bytes, because
 * the order of BLAS additions may depend on whether rows lie at a multiple of 16. */
static uint64_t dense_elements(const amped_plan *plan) {
  uint64_t n = (uint64_t)plan->ncomps;
  return amped_ceil_div(2 * DENSE_ROWS * n + n * n, 8) * 8;
}

static amped_buffers buffers(amped_factor_set *f, const amped_plan *plan, int threads) {
  amped_buffers b = {.what = "a factor", .threads = threads};
  const uint64_t row_bytes = amped_plan_row_bytes(plan);
  for (int m = 0; m < plan->order; m++)
    AMPED_BUFFER_OF(&b, SPREAD, f->factors[m], amped_plan_factor_rows(plan, m), row_bytes);
  b.what = "the MTTKRP result";
  AMPED_BUFFER_OF(&b, SPREAD, f->output, amped_plan_output_rows(plan), row_bytes);
  b.what = "a dense workspace";
  AMPED_BUFFER(&b, HOST, f->dense, (uint64_t)threads * dense_elements(plan));
  return b;
}

static void cpu_require(const amped_device *device, const amped_plan *plan, uint64_t *device_bytes,
                        uint64_t *host_bytes) {
  *device_bytes = 0;
  *host_bytes = 0;
  amped_buffers_require(buffers(&(amped_factor_set){0}, plan, device->threads), device_bytes,
                        host_bytes);
}

static void cpu_require_view(const amped_device *device, const amped_plan *plan,
                             uint64_t *device_bytes, uint64_t *host_bytes) {
  (void)device;
  (void)plan;
  (void)device_bytes;
  (void)host_bytes;
}

static void cpu_destroy(amped_factor_set *f) {
  if (f->of == NULL)
    amped_buffers_free(buffers(f, f->plan, f->threads));
  amped_free(f);
}

static amped_status cpu_create(amped_device *device, const amped_plan *plan,
                               amped_factor_set **out) {
  amped_factor_set *f = NULL;
  *out = NULL;
  AMPED_TRY(amped_calloc(&f, 1, sizeof *f, "the factors"));
  f->plan = plan;
  f->ld = plan->ld;
  f->threads = device->threads;
  f->dense_elements = dense_elements(plan);
  for (int m = 0; m < plan->order; m++)
    touch(f, m);
  amped_status status = amped_buffers_allocate(buffers(f, plan, device->threads));
  if (status == AMPED_OK)
    *out = f;
  else
    cpu_destroy(f);
  return status;
}

static void cpu_place(amped_factor_set *f, int first) {
  f->first = (uint64_t)first;
  f->ld = f->of->plan->ld;
}

/* The other set has more columns, so its workspace is large enough. */
static amped_status cpu_view(amped_factor_set *of, const amped_plan *plan, int first,
                             amped_factor_set **out) {
  AMPED_TRY(amped_calloc(out, 1, sizeof **out, "the factors"));
  **out = *of;
  (*out)->plan = plan;
  (*out)->of = of;
  (*out)->dense_elements = dense_elements(plan);
  cpu_place(*out, first);
  return AMPED_OK;
}

/* Clear the factors. Workspaces are sized for the most components. */
static amped_status cpu_resize(amped_factor_set *f) {
  const amped_plan *plan = f->plan;
  f->ld = plan->ld;
  for (int m = 0; m < plan->order; m++) {
    memset(f->factors[m], 0, amped_plan_factor_rows(plan, m) * amped_plan_row_bytes(plan));
    touch(f, m);
  }
  return AMPED_OK;
}

/* Convert rows of a padded matrix to and from count x ncomps doubles. */
static void rows_to_double(const amped_factor_set *f, const void *from, uint64_t first,
                           uint64_t count, double *rows) {
  const amped_plan *plan = f->plan;
  uint64_t n = (uint64_t)plan->ncomps;
  for (uint64_t i = 0; i < count; i++) {
    double *to = rows + i * n;
    uint64_t at = (first + i) * f->ld + f->first;
    if (plan->value_type == AMPED_F64)
      memcpy(to, (const double *)from + at, n * sizeof *to);
    else
      for (uint64_t c = 0; c < n; c++)
        to[c] = (double)((const float *)from)[at + c];
  }
}

static void rows_from_double(const amped_factor_set *f, void *to, uint64_t first, uint64_t count,
                             const double *rows) {
  const amped_plan *plan = f->plan;
  uint64_t n = (uint64_t)plan->ncomps;
  for (uint64_t i = 0; i < count; i++) {
    const double *from = rows + i * n;
    uint64_t at = (first + i) * f->ld + f->first;
    if (plan->value_type == AMPED_F64)
      memcpy((double *)to + at, from, n * sizeof *from);
    else
      for (uint64_t c = 0; c < n; c++)
        ((float *)to)[at + c] = (float)from[c];
  }
}

static amped_status cpu_put_rows(amped_factor_set *f, int mode, uint64_t position, uint64_t count,
                                 const double *rows) {
  touch(f, mode);
  rows_from_double(f, f->factors[mode], position, count, rows);
  return AMPED_OK;
}

static amped_status cpu_get_rows(amped_factor_set *f, int mode, uint64_t position, uint64_t count,
                                 double *rows) {
  rows_to_double(f, f->factors[mode], position, count, rows);
  return AMPED_OK;
}

static amped_status cpu_get_rows_at(amped_factor_set *f, int mode, uint64_t count,
                                    const uint64_t *positions, double *rows) {
  const uint64_t n = (uint64_t)f->plan->ncomps;
#pragma omp parallel for schedule(static) num_threads(f->threads)
  for (uint64_t i = 0; i < count; i++)
    if (positions[i] == AMPED_NO_ROW)
      memset(rows + i * n, 0, n * sizeof *rows);
    else
      rows_to_double(f, f->factors[mode], positions[i], 1, rows + i * n);
  return AMPED_OK;
}

static amped_status cpu_fill_random(amped_factor_set *f, int mode, uint64_t seed) {
  const amped_plan *plan = f->plan;
  const amped_row_plan *rows = &plan->modes[mode].rows;
  const uint64_t n = (uint64_t)plan->ncomps;
  touch(f, mode);
#pragma omp parallel for schedule(dynamic, 16) num_threads(f->threads)
  for (uint64_t i = 0; i < rows->idp_count; i++) {
    const uint64_t first = i * rows->width;
    const uint64_t count = rows->dim - first < rows->width ? rows->dim - first : rows->width;
    for (uint64_t r = 0; r < count && rows->owner[i] == plan->rank; r++)
      for (uint64_t c = 0; c < n; c++)
        amped_value_put(f->factors[mode], plan->value_type,
                        (rows->position[i] + r) * f->ld + f->first + c,
                        amped_random_double(seed, (uint64_t)mode, (first + r) * n + c));
  }
  return AMPED_OK;
}

static amped_status cpu_get_output(amped_factor_set *f, int mode, uint64_t row, uint64_t count,
                                   double *rows) {
  (void)mode;
  rows_to_double(f, f->output, row, count, rows);
  return AMPED_OK;
}

static amped_status cpu_put_output(amped_factor_set *f, int mode, uint64_t row, uint64_t count,
                                   const double *rows) {
  (void)mode;
  rows_from_double(f, f->output, row, count, rows);
  return AMPED_OK;
}

/* Range of the `rows` rows that thread t works on: whole multiples of DENSE_ROWS. */
static void rows_of_thread(const amped_factor_set *f, uint64_t rows, int t, uint64_t *first,
                           uint64_t *end) {
  uint64_t pieces = amped_ceil_div(rows, DENSE_ROWS);
  uint64_t team = (uint64_t)f->threads;
  *first = pieces * (uint64_t)t / team * DENSE_ROWS;
  *end = pieces * (uint64_t)(t + 1) / team * DENSE_ROWS;
  if (*end > rows)
    *end = rows;
}

static uint64_t own_position(const amped_plan *plan, int mode) {
  return (uint64_t)plan->rank * plan->modes[mode].rows.block_rows;
}

/* A thread's share of the dense workspace. */
typedef struct share {
  double *in, *out; /* DENSE_ROWS rows each */
  double *gram;
  double inner;
} share;

static share share_of(const amped_factor_set *f, int t) {
  const uint64_t n = (uint64_t)f->plan->ncomps;
  double *at = f->dense + (uint64_t)t * f->dense_elements;
  return (share){at, at + DENSE_ROWS * n, at + 2 * DENSE_ROWS * n, 0.0};
}

/* Row of mode's factor at a position, or `instead`, converted to doubles in `row`. */
static const double *row_at(const amped_factor_set *f, int mode, uint64_t position,
                            const double *instead, double *row) {
  if (position == AMPED_NO_ROW)
    return instead;
  rows_to_double(f, f->factors[mode], position, 1, row);
  return row;
}

/* The model's value at cell i. workspace: two rows. */
static double model_at(const amped_factor_set *f, uint64_t i, const uint64_t *const *positions,
                       const double *const *instead, bool biased, double *workspace) {
  const uint64_t components = (uint64_t)f->plan->ncomps - (biased ? 1 : 0);
  double *products = workspace + f->plan->ncomps;
  double model = 0.0;
  for (uint64_t r = 0; r < components; r++)
    products[r] = 1.0;
  for (int m = 0; m < f->plan->order; m++) {
    const double *row = row_at(f, m, positions[m][i], instead[m], workspace);
    for (uint64_t r = 0; r < components; r++)
      products[r] *= row[r];
    model += biased ? row[components] : 0.0;
  }
  for (uint64_t r = 0; r < components; r++)
    model += products[r];
  return model;
}

static amped_status cpu_models_at(amped_factor_set *f, uint64_t count,
                                  const uint64_t *const *positions, const double *const *instead,
                                  bool biased, double *models) {
#pragma omp parallel for schedule(static) num_threads(f->threads)
  for (int t = 0; t < f->threads; t++) {
    uint64_t first = 0;
    uint64_t end = 0;
    rows_of_thread(f, count, t, &first, &end);
    for (uint64_t i = first; i < end; i++)
      models[i] = model_at(f, i, positions, instead, biased, share_of(f, t).in);
  }
  return AMPED_OK;
}

/* Lower triangle of s->gram += gram matrix of the rows of s->out. */
static void add_gram(const share *s, uint64_t count, int n) {
  cblas_dsyrk(CblasRowMajor, CblasLower, CblasTrans, n, (int)count, 1.0, s->out, n, 1.0, s->gram,
              n);
}

/* gram += sum of the threads' grams, in the order of threads. */
static void sum_grams(const amped_factor_set *f, double *gram) {
  const uint64_t n = (uint64_t)f->plan->ncomps;
  for (uint64_t i = 0; i < n; i++)
    for (uint64_t k = 0; k <= i; k++) {
      double sum = 0.0;
      for (int t = 0; t < f->threads; t++)
        sum += share_of(f, t).gram[i * n + k];
      gram[i * n + k] += sum;
      if (k < i)
        gram[k * n + i] += sum;
    }
}

/* New rows of `count` rows of the block from `first` on. s->in and s->out are workspaces. */
static void solve_rows(const amped_factor_set *f, int mode, uint64_t first, uint64_t count,
                       const double *p, const double *keep, const share *s) {
  const amped_plan *plan = f->plan;
  const int n = plan->ncomps;
  const uint64_t position = own_position(plan, mode) + first;
  rows_to_double(f, f->output, first, count, s->in);
  cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)count, n, n, 1.0, s->in, n, p, n, 0.0,
              s->out, n);
  if (keep != NULL) {
    rows_to_double(f, f->factors[mode], position, count, s->in);
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)count, n, n, 1.0, s->in, n, keep, n,
                1.0, s->out, n);
  }
  rows_from_double(f, f->factors[mode], position, count, s->out);
}

/* Add these rows to the thread's sums, as the rows are stored. */
static void add_row_sums(const amped_factor_set *f, int mode, uint64_t first, uint64_t count,
                         share *s) {
  const amped_plan *plan = f->plan;
  rows_to_double(f, f->output, first, count, s->in);
  rows_to_double(f, f->factors[mode], own_position(plan, mode) + first, count, s->out);
  s->inner += cblas_ddot((int)count * plan->ncomps, s->in, 1, s->out, 1);
  add_gram(s, count, plan->ncomps);
}

/* Rule of the update: new rows = output * p + old rows * keep, or row descent. */
typedef struct row_rule {
  const double *p, *keep;
  const amped_row_descent *descent; /* NULL: no row descent */
} row_rule;

/* New rows by row descent, for `count` rows from `first` on. s->in and s->out are workspaces. */
static void descend_rows(const amped_factor_set *f, int mode, uint64_t first, uint64_t count,
                         const amped_row_descent *d, const share *s) {
  const amped_plan *plan = f->plan;
  const uint64_t n = (uint64_t)plan->ncomps;
  const uint64_t position = own_position(plan, mode) + first;
  rows_to_double(f, f->output, first, count, s->in);
  rows_to_double(f, f->factors[mode], position, count, s->out);
  for (uint64_t i = 0; i < count; i++) {
    for (uint64_t c = 0; c < n; c++)
      s->out[i * n + c] *= d->scale[c];
    amped_row_descent_cpu(plan->ncomps, d, s->in + i * n, s->out + i * n);
  }
  rows_from_double(f, f->factors[mode], position, count, s->out);
}

static amped_status make_rows(amped_factor_set *f, int mode, uint64_t from, uint64_t to,
                              const row_rule *rule, amped_row_sums *sums) {
  const uint64_t n = (uint64_t)f->plan->ncomps;
  touch(f, mode);
#pragma omp parallel for schedule(static) num_threads(f->threads)
  for (int t = 0; t < f->threads; t++) {
    share s = share_of(f, t);
    uint64_t first = 0;
    uint64_t end = 0;
    memset(s.gram, 0, n * n * sizeof *s.gram);
    rows_of_thread(f, to - from, t, &first, &end);
    for (uint64_t i = from + first; i < from + end; i += DENSE_ROWS) {
      const uint64_t count = from + end - i < DENSE_ROWS ? from + end - i : DENSE_ROWS;
      if (rule->descent != NULL)
        descend_rows(f, mode, i, count, rule->descent, &s);
      else
        solve_rows(f, mode, i, count, rule->p, rule->keep, &s);
      if (sums != NULL)
        add_row_sums(f, mode, i, count, &s);
    }
    s.in[0] = s.inner;
  }
  for (int t = 0; t < f->threads && sums != NULL; t++)
    sums->inner += share_of(f, t).in[0];
  if (sums != NULL)
    sum_grams(f, sums->gram);
  return AMPED_OK;
}

static amped_status cpu_solve(amped_factor_set *f, int mode, uint64_t from, uint64_t to,
                              const double *p, const double *keep, amped_row_sums *sums) {
  const row_rule rule = {.p = p, .keep = keep};
  return make_rows(f, mode, from, to, &rule, sums);
}

static amped_status cpu_descend(amped_factor_set *f, int mode, uint64_t from, uint64_t to,
                                const amped_row_descent *descent, amped_row_sums *sums) {
  const row_rule rule = {.descent = descent};
  return make_rows(f, mode, from, to, &rule, sums);
}

/* A thread's sums of a row product, in its workspace: sums, squares, and two numbers. */
typedef struct product_sums {
  double *sums, *squares; /* [ncomps] */
  double *violation, *raised;
} product_sums;

static product_sums product_sums_of(const share *s, uint64_t n) {
  return (product_sums){s->in, s->in + n, s->in + 2 * n, s->in + 2 * n + 1};
}

/* Multiply rows first .. end of the block. */
static void multiply_rows(const amped_factor_set *f, int mode, uint64_t first, uint64_t end,
                          const amped_row_product *p, const product_sums *to) {
  const amped_plan *plan = f->plan;
  const amped_vtype type = plan->value_type;
  const uint64_t n = (uint64_t)plan->ncomps;
  const uint64_t position = own_position(plan, mode);
  void *const rows = f->factors[mode];
  double violation = 0.0;
  uint64_t raised = 0;
  memset(to->sums, 0, (2 * n + 2) * sizeof *to->sums);
  for (uint64_t i = first; i < end; i++)
    for (uint64_t c = 0; c < n; c++) {
      const uint64_t at = (position + i) * f->ld + f->first + c;
      const double ratio = amped_value_get(f->output, type, i * f->ld + f->first + c);
      const double old = amped_value_get(rows, type, at);
      const double new = amped_row_product_entry(p, c, old, ratio, &violation, &raised);
      if (!p->measures)
        amped_value_put(rows, type, at, new);
      const double entry = p->measures ? old : amped_value_get(rows, type, at);
      to->sums[c] += entry;
      to->squares[c] += entry * entry;
    }
  *to->violation = violation;
  *to->raised = (double)raised;
}

static amped_status cpu_multiply(amped_factor_set *f, int mode, uint64_t first, uint64_t end,
                                 const amped_row_product *p, amped_row_product_sums *sums) {
  const uint64_t n = (uint64_t)f->plan->ncomps;
  if (!p->measures)
    touch(f, mode);
#pragma omp parallel for schedule(static) num_threads(f->threads)
  for (int t = 0; t < f->threads; t++) {
    const share s = share_of(f, t);
    const product_sums own = product_sums_of(&s, n);
    uint64_t from = 0;
    uint64_t to = 0;
    rows_of_thread(f, end - first, t, &from, &to);
    multiply_rows(f, mode, first + from, first + to, p, &own);
  }
  for (int t = 0; t < f->threads; t++) {
    const share s = share_of(f, t);
    const product_sums own = product_sums_of(&s, n);
    for (uint64_t c = 0; c < n; c++) {
      sums->sums[c] += own.sums[c];
      sums->squares[c] += own.squares[c];
    }
    sums->violation = fmax(sums->violation, *own.violation);
    sums->raised += (uint64_t)*own.raised;
  }
  return AMPED_OK;
}

/* Add the columns of `count` own rows from `first` on to s->gram: absolute values if chosen is
 * NULL, else the chosen rows. */
static void add_columns(const amped_factor_set *f, int mode, const uint8_t *chosen, uint64_t first,
                        uint64_t count, const share *s) {
  const uint64_t n = (uint64_t)f->plan->ncomps;
  rows_to_double(f, f->factors[mode], own_position(f->plan, mode) + first, count, s->in);
  for (uint64_t i = 0; i < count; i++)
    for (uint64_t c = 0; c < n && (chosen == NULL || chosen[first + i] != 0); c++)
      s->gram[c] += chosen != NULL ? s->in[i * n + c] : fabs(s->in[i * n + c]);
}

static void sum_columns(const amped_factor_set *f, int mode, const uint8_t *chosen, double *sums) {
  const uint64_t n = (uint64_t)f->plan->ncomps;
#pragma omp parallel for schedule(static) num_threads(f->threads)
  for (int t = 0; t < f->threads; t++) {
    const share s = share_of(f, t);
    uint64_t first = 0;
    uint64_t end = 0;
    memset(s.gram, 0, n * sizeof *s.gram);
    rows_of_thread(f, f->plan->modes[mode].rows.rank_rows[f->plan->rank], t, &first, &end);
    for (uint64_t i = first; i < end; i += DENSE_ROWS)
      add_columns(f, mode, chosen, i, end - i < DENSE_ROWS ? end - i : DENSE_ROWS, &s);
  }
  memset(sums, 0, n * sizeof *sums);
  for (int t = 0; t < f->threads; t++)
    for (uint64_t c = 0; c < n; c++)
      sums[c] += share_of(f, t).gram[c];
}

static amped_status cpu_absolute(amped_factor_set *f, int mode, double *sums) {
  sum_columns(f, mode, NULL, sums);
  return AMPED_OK;
}

static amped_status cpu_sum_chosen(amped_factor_set *f, int mode, const uint8_t *chosen,
                                   double *sums) {
  sum_columns(f, mode, chosen, sums);
  return AMPED_OK;
}

static amped_status cpu_gram(amped_factor_set *f, int mode, double *gram) {
  const amped_plan *plan = f->plan;
  const uint64_t n = (uint64_t)plan->ncomps;
#pragma omp parallel for schedule(static) num_threads(f->threads)
  for (int t = 0; t < f->threads; t++) {
    const share s = share_of(f, t);
    uint64_t first = 0;
    uint64_t end = 0;
    memset(s.gram, 0, n * n * sizeof *s.gram);
    rows_of_thread(f, plan->modes[mode].rows.block_rows, t, &first, &end);
    for (uint64_t i = first; i < end; i += DENSE_ROWS) {
      const uint64_t count = end - i < DENSE_ROWS ? end - i : DENSE_ROWS;
      rows_to_double(f, f->factors[mode], own_position(plan, mode) + i, count, s.out);
      add_gram(&s, count, plan->ncomps);
    }
  }
  memset(gram, 0, n * n * sizeof *gram);
  sum_grams(f, gram);
  return AMPED_OK;
}

static amped_status cpu_scale(amped_factor_set *f, int mode, uint64_t position, uint64_t all,
                              const double *scale) {
  const amped_plan *plan = f->plan;
  uint64_t n = (uint64_t)plan->ncomps;
  touch(f, mode);
#pragma omp parallel for schedule(static) num_threads(f->threads)
  for (int t = 0; t < f->threads; t++) {
    double *rows = f->dense + (uint64_t)t * f->dense_elements;
    uint64_t first = 0;
    uint64_t end = 0;
    rows_of_thread(f, all, t, &first, &end);
    for (uint64_t i = first; i < end; i += DENSE_ROWS) {
      uint64_t count = end - i < DENSE_ROWS ? end - i : DENSE_ROWS;
      rows_to_double(f, f->factors[mode], position + i, count, rows);
      for (uint64_t k = 0; k < count; k++)
        for (uint64_t c = 0; c < n; c++)
          rows[k * n + c] *= scale[c];
      rows_from_double(f, f->factors[mode], position + i, count, rows);
    }
  }
  return AMPED_OK;
}

static void *cpu_rows(amped_factor_set *f, int mode) {
  touch(f, mode);
  return f->factors[mode];
}

static uint64_t cpu_version(const amped_factor_set *f, int mode) {
  return f->of != NULL ? f->of->versions[mode] : f->versions[mode];
}

uint64_t amped_factor_set_cpu_at(const amped_factor_set *f, uint64_t row) {
  return row * f->ld + f->first;
}

const void *amped_factor_set_cpu_rows(const amped_factor_set *f, int mode) {
  return f->factors[mode];
}

void *amped_factor_set_cpu_output(amped_factor_set *f) {
  return f->output;
}

const amped_factor_ops amped_factor_set_cpu = {
    .require = cpu_require,
    .create = cpu_create,
    .destroy = cpu_destroy,
    .resize = cpu_resize,
    .require_view = cpu_require_view,
    .view = cpu_view,
    .place = cpu_place,
    .put_rows = cpu_put_rows,
    .get_rows = cpu_get_rows,
    .get_rows_at = cpu_get_rows_at,
    .models_at = cpu_models_at,
    .fill_random = cpu_fill_random,
    .get_output = cpu_get_output,
    .put_output = cpu_put_output,
    .solve = cpu_solve,
    .descend = cpu_descend,
    .multiply = cpu_multiply,
    .absolute = cpu_absolute,
    .sum_chosen = cpu_sum_chosen,
    .gram = cpu_gram,
    .scale = cpu_scale,
    .rows = cpu_rows,
    .version = cpu_version,
};
