/* Vectors of own rows of every backend against the obvious loops. */
#include "backend/row_vectors.h"
#include "tests/lib/testing_backend.h"

enum { COUNT = 3, MODES = 3, SOURCES = COUNT + 2 };

/* What the vectors, the factors and the output of mode in hand ought to be. */
typedef struct vectors {
  bench b;
  uint64_t n;
  int output_mode;
  uint64_t rows[MODES];
  double *want[MODES][SOURCES]; /* [rows][n]; then the factor, and the output */
  amped_row_vectors *made;
} vectors;

static const amped_row_vector_ops *ops(const vectors *v) {
  return v->b.w.backend->row_vectors;
}

static const amped_factor_ops *factors(const vectors *v) {
  return v->b.w.backend->factors;
}

static double **want(vectors *v, int mode, int vector) {
  return &v->want[mode][vector == AMPED_ROWS_FACTOR   ? COUNT
                        : vector == AMPED_ROWS_OUTPUT ? COUNT + 1
                                                      : vector];
}

static void put_sources(vectors *v) {
  const amped_plan *plan = &v->b.plan;
  for (int m = 0; m < MODES; m++) {
    *want(v, m, AMPED_ROWS_FACTOR) = random_rows(v->rows[m], (int)v->n, plan->value_type, 3);
    check_ok(factors(v)->put_rows(v->b.w.factors, m, block_first(plan, m), v->rows[m],
                                  *want(v, m, AMPED_ROWS_FACTOR)));
    *want(v, m, AMPED_ROWS_OUTPUT) = random_rows(v->rows[m], (int)v->n, plan->value_type, 4);
  }
}

static void put_output(vectors *v, int mode) {
  check_ok(factors(v)->put_output(v->b.w.factors, mode, 0, v->rows[mode],
                                  *want(v, mode, AMPED_ROWS_OUTPUT)));
}

static void vectors_open(vectors *v, problem *tensor, const setup *how) {
  memset(v, 0, sizeof *v);
  bench_plan(&v->b, tensor, how);
  check_ok(amped_worker_prepare(&v->b.w, &v->b.plan));
  v->n = (uint64_t)tensor->ncomps;
  for (int m = 0; m < MODES; m++) {
    v->rows[m] = v->b.plan.modes[m].rows.rank_rows[v->b.plan.rank];
    for (int k = 0; k < COUNT; k++)
      v->want[m][k] = doubles(v->rows[m] * v->n);
  }
  put_sources(v);
  check_ok(ops(v)->create(v->b.w.device, v->b.w.factors, &v->b.plan, COUNT, &v->made));
}

static void vectors_close(vectors *v) {
  ops(v)->destroy(v->made);
  for (int m = 0; m < MODES; m++)
    for (int k = 0; k < SOURCES; k++)
      amped_free(v->want[m][k]);
  bench_close(&v->b);
}

static void add_slowly(vectors *v, int mode, const amped_row_term *t, double *out) {
  const double *from = *want(v, mode, t->vector);
  for (uint64_t i = 0; i < v->rows[mode]; i++)
    for (uint64_t c = 0; c < v->n; c++) {
      double x = t->matrix == NULL ? from[i * v->n + c] : 0.0;
      for (uint64_t k = 0; k < v->n && t->matrix != NULL; k++)
        x += from[i * v->n + k] * t->matrix[k * v->n + c];
      out[i * v->n + c] += t->by * x;
    }
}

/* What is made is compared where it is used: by a cross product with the factor. */
static void combine(vectors *v, int mode, int to, const amped_row_term *terms, int count) {
  double *out = doubles(v->rows[mode] * v->n);
  const uint64_t version = factors(v)->version(v->b.w.factors, mode);
  for (int k = 0; k < count; k++)
    add_slowly(v, mode, &terms[k], out);
  check_ok(ops(v)->combine(v->made, mode, to, terms, count));
  if (to == AMPED_ROWS_FACTOR) {
    ck_assert_uint_gt(factors(v)->version(v->b.w.factors, mode), version);
    for (uint64_t e = 0; e < v->rows[mode] * v->n; e++)
      out[e] = rounded(out[e], v->b.p->value_type);
  } else {
    ck_assert_uint_eq(factors(v)->version(v->b.w.factors, mode), version);
  }
  amped_free(*want(v, mode, to));
  *want(v, mode, to) = out;
}

/* Entries are below some hundreds, sums of at most some hundred products of them. */
static void check_cross(vectors *v, int mode, int a, int b) {
  double *got = doubles(v->n * v->n);
  const double *x = *want(v, mode, a);
  const double *y = *want(v, mode, b);
  check_ok(ops(v)->cross(v->made, mode, a, b, got));
  for (uint64_t r = 0; r < v->n; r++)
    for (uint64_t s = 0; s < v->n; s++) {
      double sum = 0.0;
      double sizes = 1.0;
      for (uint64_t i = 0; i < v->rows[mode]; i++) {
        sum += x[i * v->n + r] * y[i * v->n + s];
        sizes += fabs(x[i * v->n + r] * y[i * v->n + s]);
      }
      near(got[r * v->n + s], sum, (1e-11 + 4.0 * v->b.p->eps * (a == b)) * sizes, "cross", r, s);
    }
  amped_free(got);
}

static void check_factor(vectors *v, int mode) {
  const double *x = *want(v, mode, AMPED_ROWS_FACTOR);
  double *got = doubles(v->rows[mode] * v->n);
  check_ok(factors(v)->get_rows(v->b.w.factors, mode, block_first(&v->b.plan, mode), v->rows[mode],
                                got));
  for (uint64_t e = 0; e < v->rows[mode] * v->n; e++)
    near(got[e], x[e], (1e-12 + 2.0 * v->b.p->eps) * (1.0 + fabs(x[e])), "the factor", e / v->n,
         e % v->n);
  amped_free(got);
}

static void check_dot(vectors *v, int a, int b) {
  double got = 7.0;
  double sum = 7.0;
  double sizes = 7.0;
  for (int m = 0; m < MODES; m++)
    for (uint64_t e = 0; e < v->rows[m] * v->n; e++) {
      sum += v->want[m][a][e] * v->want[m][b][e];
      sizes += fabs(v->want[m][a][e] * v->want[m][b][e]);
    }
  check_ok(ops(v)->dot(v->made, a, b, &got));
  near(got, sum, 1e-12 * sizes, "dot", 0, 0);
}

static void check_all(problem *tensor, const setup *how) {
  vectors v;
  vectors_open(&v, tensor, how);
  double *p = random_rows(v.n, (int)v.n, AMPED_F64, 8);
  double *q = random_rows(v.n, (int)v.n, AMPED_F64, 9);
  for (int m = 0; m < MODES; m++) {
    const amped_row_term gradient[] = {{AMPED_ROWS_FACTOR, 1.0, p}, {AMPED_ROWS_OUTPUT, -1.0, q}};
    const amped_row_term copied[] = {{0, -1.0, NULL}};
    const amped_row_term added[] = {{1, 0.5, NULL}, {0, 2.0, NULL}};
    const amped_row_term multiplied[] = {{1, -1.5, p}, {AMPED_ROWS_FACTOR, 1.0, q}};
    const amped_row_term scaled[] = {{2, 0.25, NULL}};
    const amped_row_term moved[] = {{AMPED_ROWS_FACTOR, 1.0, NULL}, {2, 0.5, NULL}};
    put_output(&v, m);
    combine(&v, m, 0, gradient, 2);
    combine(&v, m, 1, copied, 1);
    combine(&v, m, 1, added, 2);
    combine(&v, m, 2, multiplied, 2);
    combine(&v, m, 2, scaled, 1);
    check_cross(&v, m, 2, AMPED_ROWS_FACTOR);
    check_cross(&v, m, AMPED_ROWS_OUTPUT, 1);
    check_cross(&v, m, 0, 0);
    combine(&v, m, AMPED_ROWS_FACTOR, moved, 2);
    check_factor(&v, m);
  }
  check_dot(&v, 0, 1);
  check_dot(&v, 2, 2);
  for (int m = 0; m < MODES; m++)
    combine(&v, m, 1, NULL, 0);
  check_dot(&v, 0, 1);
  amped_free(q);
  amped_free(p);
  vectors_close(&v);
}

START_TEST(sums_and_products_are_those_of_loops) {
  static const uint64_t dims[] = {5, 701, 1};
  static const int widths[] = {1, 2, 3, 7, 8, 16, 33, 64, 70};
  for (int type = 0; type < 2; type++)
    for (size_t w = 0; w < sizeof widths / sizeof widths[0]; w++) {
      problem tensor;
      setup how = alone();
      problem_create(&tensor, MODES, dims, 300, widths[w], type == 0 ? AMPED_F32 : AMPED_F64);
      check_all(&tensor, &how);
      how.nranks = 3;
      for (how.rank = 0; how.rank < how.nranks; how.rank++)
        check_all(&tensor, &how);
      problem_free(&tensor);
    }
  check_no_leak();
}

START_TEST(their_memory_is_told) {
  static const uint64_t dims[] = {5, 701, 1};
  const setup how = alone();
  problem tensor;
  bench b;
  uint64_t device = 0;
  uint64_t host = 0;
  problem_create(&tensor, MODES, dims, 300, 9, AMPED_F64);
  bench_plan(&b, &tensor, &how);
  b.w.backend->row_vectors->require(b.w.device, &b.plan, 6, &device, &host);
  ck_assert_uint_ge(device + host, 707 * 9 * 6 * sizeof(double));
  ck_assert_uint_le(device + host, UINT64_C(128) << 20);
  bench_close(&b);
  problem_free(&tensor);
}

TESTING_MAIN("row_vectors", sums_and_products_are_those_of_loops, their_memory_is_told)
