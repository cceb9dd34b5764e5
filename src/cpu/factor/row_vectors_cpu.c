/* Row vectors in host memory: vectors over a rank's own rows (twin:
 * cuda/factor/row_vectors_cuda.cu). */
#include <cblas.h>
#include <string.h>

#include "base/mem.h"
#include "cpu/device/device_cpu.h"
#include "base/buffers.h"

/* Rows per step of a thread. */
#define ROWS UINT64_C(256)

static const char what[] = "vectors of rows";

struct amped_row_vectors {
  const amped_plan *plan;
  amped_factor_set *factors;
  int threads;
  int count;
  double *rows;                     /* [count][length] */
  uint64_t length;                  /* numbers per vector */
  uint64_t begins[AMPED_MAX_ORDER]; /* offset of each mode's rows in a vector */
  double *room;                     /* workspace: [threads][2][ROWS][ncomps], then
                                       [threads][ncomps][ncomps] */
};

static uint64_t own_rows(const amped_plan *plan, int mode) {
  return plan->modes[mode].rows.rank_rows[plan->rank];
}

static uint64_t length_of(const amped_plan *plan) {
  uint64_t rows = 0;
  for (int m = 0; m < plan->order; m++)
    rows += own_rows(plan, m);
  return rows * (uint64_t)plan->ncomps;
}

static uint64_t room_of(const amped_plan *plan) {
  return (2 * ROWS + (uint64_t)plan->ncomps) * (uint64_t)plan->ncomps;
}

static amped_buffers buffers(amped_row_vectors *v, const amped_plan *plan, int count, int threads) {
  amped_buffers b = {.what = what, .threads = threads};
  AMPED_BUFFER(&b, HOST, v->room, (uint64_t)threads * room_of(plan));
  AMPED_BUFFER(&b, SPREAD, v->rows, (uint64_t)count * length_of(plan));
  return b;
}

static void vectors_require(const amped_device *device, const amped_plan *plan, int count,
                            uint64_t *device_bytes, uint64_t *host_bytes) {
  amped_buffers_require(buffers(&(amped_row_vectors){0}, plan, count, device->threads),
                        device_bytes, host_bytes);
}

static void vectors_destroy(amped_row_vectors *v) {
  if (v == NULL)
    return;
  amped_buffers_free(buffers(v, v->plan, 0, 0));
  amped_free(v);
}

static amped_status vectors_create(amped_device *device, amped_factor_set *factors,
                                   const amped_plan *plan, int count, amped_row_vectors **out) {
  amped_row_vectors *v = NULL;
  uint64_t at = 0;
  *out = NULL;
  AMPED_TRY(amped_calloc(&v, 1, sizeof *v, what));
  v->plan = plan;
  v->factors = factors;
  v->threads = device->threads;
  v->count = count;
  v->length = length_of(plan);
  for (int m = 0; m < plan->order; m++) {
    v->begins[m] = at;
    at += own_rows(plan, m) * (uint64_t)plan->ncomps;
  }
  const amped_status status = amped_buffers_allocate(buffers(v, plan, count, device->threads));
  if (status == AMPED_OK)
    *out = v;
  else
    vectors_destroy(v);
  return status;
}

/* --- rows ------------------------------------------------------------------------------------- */

/* A vector's rows of one mode, to read. ld: elements from one row to the next. */
typedef struct rows_of {
  const void *rows;
  amped_vtype type;
  uint64_t ld;
} rows_of;

static uint64_t block_begin(const amped_plan *plan, int mode) {
  return (uint64_t)plan->rank * plan->modes[mode].rows.block_rows * amped_plan_row_bytes(plan);
}

static rows_of rows_at(const amped_row_vectors *v, int mode, int vector) {
  const amped_plan *plan = v->plan;
  if (vector == AMPED_ROWS_FACTOR)
    return (rows_of){(const char *)amped_factor_set_cpu_rows(v->factors, mode) +
                         block_begin(plan, mode),
                     plan->value_type, plan->ld};
  if (vector == AMPED_ROWS_OUTPUT)
    return (rows_of){amped_factor_set_cpu_output(v->factors), plan->value_type, plan->ld};
  return (rows_of){v->rows + (uint64_t)vector * v->length + v->begins[mode], AMPED_F64,
                   (uint64_t)plan->ncomps};
}

/* `count` rows from `first` on, as doubles without padding: a pointer to the rows themselves, or a
 * copy in `room`. */
static const double *get(const rows_of *r, uint64_t first, uint64_t count, uint64_t n,
                         double *room) {
  if (r->type == AMPED_F64 && r->ld == n)
    return (const double *)r->rows + first * n;
  for (uint64_t i = 0; i < count; i++)
    for (uint64_t c = 0; c < n; c++)
      room[i * n + c] = amped_value_get(r->rows, r->type, (first + i) * r->ld + c);
  return room;
}

/* A vector's rows of one mode, to write. */
typedef struct target {
  void *rows;
  amped_vtype type;
  uint64_t ld;
} target;

static target target_at(amped_row_vectors *v, int mode, int vector) {
  const amped_plan *plan = v->plan;
  if (vector == AMPED_ROWS_FACTOR)
    return (target){(char *)amped_factor_set_cpu.rows(v->factors, mode) + block_begin(plan, mode),
                    plan->value_type, plan->ld};
  return (target){v->rows + (uint64_t)vector * v->length + v->begins[mode], AMPED_F64,
                  (uint64_t)plan->ncomps};
}

static void put(const target *to, uint64_t first, uint64_t count, uint64_t n, const double *from) {
  for (uint64_t i = 0; i < count; i++)
    for (uint64_t c = 0; c < n; c++)
      amped_value_put(to->rows, to->type, (first + i) * to->ld + c, from[i * n + c]);
}

/* --- operations ------------------------------------------------------------------------------- */

typedef struct combination {
  const amped_row_vectors *v;
  int mode;
  target to;
  const amped_row_term *terms;
  int count;
} combination;

/* One thread's rows of the sum. `room` is a workspace of [2][ROWS][ncomps]. */
static void add_terms(const combination *s, uint64_t first, uint64_t count, double *room) {
  const int n = s->v->plan->ncomps;
  double *const in = room;
  double *const out = room + ROWS * (uint64_t)n;
  memset(out, 0, count * (uint64_t)n * sizeof *out);
  for (int k = 0; k < s->count; k++) {
    const amped_row_term *t = &s->terms[k];
    const rows_of from = rows_at(s->v, s->mode, t->vector);
    const double *rows = get(&from, first, count, (uint64_t)n, in);
    if (t->matrix != NULL)
      cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)count, n, n, t->by, rows, n,
                  t->matrix, n, 1.0, out, n);
    else
      cblas_daxpy((int)count * n, t->by, rows, 1, out, 1);
  }
  put(&s->to, first, count, (uint64_t)n, out);
}

static amped_status vectors_combine(amped_row_vectors *v, int mode, int to,
                                    const amped_row_term *terms, int count) {
  const combination s = {v, mode, target_at(v, mode, to), terms, count};
  const uint64_t rows = own_rows(v->plan, mode);
#pragma omp parallel for schedule(static) num_threads(v->threads)
  for (int t = 0; t < v->threads; t++) {
    double *const room = v->room + (uint64_t)t * room_of(v->plan);
    const uint64_t end = rows * (uint64_t)(t + 1) / (uint64_t)v->threads;
    for (uint64_t i = rows * (uint64_t)t / (uint64_t)v->threads; i < end; i += ROWS)
      add_terms(&s, i, end - i < ROWS ? end - i : ROWS, room);
  }
  return AMPED_OK;
}

static amped_status vectors_cross(amped_row_vectors *v, int mode, int a, int b, double *product) {
  const int n = v->plan->ncomps;
  const uint64_t rows = own_rows(v->plan, mode);
  const uint64_t area = (uint64_t)n * (uint64_t)n;
  const rows_of left = rows_at(v, mode, a);
  const rows_of right = rows_at(v, mode, b);
#pragma omp parallel for schedule(static) num_threads(v->threads)
  for (int t = 0; t < v->threads; t++) {
    double *const room = v->room + (uint64_t)t * room_of(v->plan);
    double *const part = room + 2 * ROWS * (uint64_t)n;
    const uint64_t end = rows * (uint64_t)(t + 1) / (uint64_t)v->threads;
    memset(part, 0, area * sizeof *part);
    for (uint64_t i = rows * (uint64_t)t / (uint64_t)v->threads; i < end; i += ROWS) {
      const uint64_t some = end - i < ROWS ? end - i : ROWS;
      const double *x = get(&left, i, some, (uint64_t)n, room);
      const double *y = get(&right, i, some, (uint64_t)n, room + ROWS * (uint64_t)n);
      cblas_dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, n, n, (int)some, 1.0, x, n, y, n, 1.0,
                  part, n);
    }
  }
  memset(product, 0, area * sizeof *product);
  for (int t = 0; t < v->threads; t++)
    cblas_daxpy((int)area, 1.0, v->room + (uint64_t)t * room_of(v->plan) + 2 * ROWS * (uint64_t)n,
                1, product, 1);
  return AMPED_OK;
}

static amped_status vectors_dot(amped_row_vectors *v, int a, int b, double *sum) {
  const double *x = v->rows + (uint64_t)a * v->length;
  const double *y = v->rows + (uint64_t)b * v->length;
#pragma omp parallel for schedule(static) num_threads(v->threads)
  for (int t = 0; t < v->threads; t++) {
    const uint64_t end = v->length * (uint64_t)(t + 1) / (uint64_t)v->threads;
    double part = 0.0;
#pragma omp simd reduction(+ : part)
    for (uint64_t i = v->length * (uint64_t)t / (uint64_t)v->threads; i < end; i++)
      part += x[i] * y[i];
    v->room[(uint64_t)t * room_of(v->plan)] = part;
  }
  for (int t = 0; t < v->threads; t++)
    *sum += v->room[(uint64_t)t * room_of(v->plan)];
  return AMPED_OK;
}

const amped_row_vector_ops amped_row_vectors_cpu = {
    .require = vectors_require,
    .create = vectors_create,
    .destroy = vectors_destroy,
    .combine = vectors_combine,
    .cross = vectors_cross,
    .dot = vectors_dot,
};
