/* Nonnegative rows of every backend against the slow, obvious rule of backend/nonnegative_row.h. */
#include "backend/nonnegative_row.h"
#include "tests/lib/testing_backend.h"

/* V = the gram of random rows; component `gone` has a row and column of zero (-1: none); the last
 * two components are equal where `twins` is set. */
static double *gram_of(uint64_t n, int gone, bool twins) {
  double *rows = random_rows(2 * n + 3, (int)n, AMPED_F64, 55);
  double *v = doubles(n * n);
  for (uint64_t i = 0; i < 2 * n + 3; i++) {
    for (uint64_t r = 0; r < n; r++)
      rows[i * n + r] = (int64_t)r == gone ? 0.0 : fabs(rows[i * n + r]);
    if (twins && n > 1)
      rows[i * n + n - 1] = rows[i * n + n - 2];
  }
  for (uint64_t i = 0; i < 2 * n + 3; i++)
    for (uint64_t r = 0; r < n; r++)
      for (uint64_t c = 0; c < n; c++)
        v[r * n + c] += rows[i * n + r] * rows[i * n + c];
  amped_free(rows);
  return v;
}

/* Passes over a row until they end. Passes on either side of the end's threshold are both right, so
 * *margin is the last change. */
static void slow_row(uint64_t n, const double *v, const double *w, double *a, double *margin) {
  double first = 0.0;
  for (int pass = 0; pass < AMPED_NONNEGATIVE_PASSES; pass++) {
    double change = 0.0;
    for (uint64_t r = 0; r < n; r++) {
      double x = w[r];
      for (uint64_t c = 0; c < n; c++)
        x -= a[c] * v[c * n + r];
      x = v[r * n + r] > 0.0 ? fmax(0.0, a[r] + x / v[r * n + r]) : 0.0;
      change += (x - a[r]) * (x - a[r]);
      a[r] = x;
    }
    change = sqrt(change);
    *margin = change;
    if (pass == 0)
      first = change;
    else if (change <= AMPED_NONNEGATIVE_SHARE * first)
      return;
  }
}

/* Old rows are those of the factor without their signs. */
static double *put_old(const bench *s, int mode, uint64_t rows) {
  const uint64_t n = (uint64_t)s->p->ncomps;
  double *old = random_rows(rows, (int)n, s->p->value_type, 31);
  for (uint64_t e = 0; e < rows * n; e++)
    old[e] = fabs(old[e]);
  check_ok(
      s->w.backend->factors->put_rows(s->w.factors, mode, block_first(&s->plan, mode), rows, old));
  return old;
}

static void rows_are_right(const bench *s, int mode, int gone, bool twins, bool with_sums) {
  const uint64_t n = (uint64_t)s->p->ncomps;
  const amped_mode_plan *m = &s->plan.modes[mode];
  const uint64_t rows = m->rows.rank_rows[s->plan.rank];
  double *v = gram_of(n, gone, twins);
  double *w = random_rows(m->copy.output_rows, (int)n, s->p->value_type, 44);
  double *scale = random_rows(1, (int)n, AMPED_F64, 77);
  double *old = put_old(s, mode, rows);
  double *got = doubles(rows * n);
  amped_row_sums sums = {doubles(n * n), 0.5};
  double inner = 0.5;
  double trace = 0.0;
  for (uint64_t e = rows * n; e < m->copy.output_rows * n; e++)
    w[e] = 0.0; /* rows of padding */
  for (uint64_t c = 0; c < n; c++)
    scale[c] = fabs(scale[c]) * (c % 5 == 3 ? 0.0 : 1.0);
  check_ok(s->w.backend->factors->put_output(s->w.factors, mode, 0, m->copy.output_rows, w));
  for (int part = m->rows.parts; part-- > 0;)
    check_ok(s->w.backend->factors->solve_nonnegative(s->w.factors, mode, m->rows.part_rows[part],
                                                      m->rows.part_rows[part + 1], v, scale,
                                                      with_sums ? &sums : NULL));
  check_ok(
      s->w.backend->factors->get_rows(s->w.factors, mode, block_first(&s->plan, mode), rows, got));
  for (uint64_t i = 0; i < rows; i++) {
    double margin = 0.0;
    for (uint64_t c = 0; c < n; c++)
      old[i * n + c] *= scale[c];
    slow_row(n, v, w + i * n, old + i * n, &margin);
    for (uint64_t c = 0; c < n; c++) {
      ck_assert(got[i * n + c] >= 0.0);
      near(got[i * n + c], old[i * n + c], s->p->eps * fabs(old[i * n + c]) + 1e-9 + 1e-9 * margin,
           "nonnegative", i, c);
      if ((int64_t)c == gone)
        ck_assert(got[i * n + c] == 0.0);
      inner += got[i * n + c] * w[i * n + c];
      trace += got[i * n + c] * got[i * n + c];
    }
  }
  for (uint64_t c = 0; c < n; c++)
    trace -= with_sums ? sums.gram[c * n + c] : 0.0;
  near(trace, 0.0, with_sums ? 1e-9 * (1.0 + (double)(rows * n)) : INFINITY, "trace", 0, 0);
  near(sums.inner, with_sums ? inner : 0.5, 1e-9 * (1.0 + (double)(rows * n)), "inner", 0, 0);
  amped_free(sums.gram);
  amped_free(got);
  amped_free(old);
  amped_free(scale);
  amped_free(w);
  amped_free(v);
}

START_TEST(rows_follow_the_rule) {
  static const uint64_t dims[] = {603, 1, 30};
  static const int widths[] = {1, 2, 7, 16, 31, 33, 64, 70};
  for (size_t k = 0; k < sizeof widths / sizeof widths[0]; k++)
    for (int type = 0; type < 2; type++) {
      problem p;
      setup how = alone();
      how.nranks = 1 + (int)k % 2;
      how.parts = 1 + (int)k;
      problem_create(&p, 3, dims, 900, widths[k], type == 0 ? AMPED_F32 : AMPED_F64);
      for (how.rank = 0; how.rank < how.nranks; how.rank++) {
        bench s;
        bench_plan(&s, &p, &how);
        bench_load(&s);
        for (int m = 0; m < 3; m++) {
          rows_are_right(&s, m, -1, false, true);
          rows_are_right(&s, m, widths[k] / 3, true, m == 0);
        }
        bench_close(&s);
      }
      problem_free(&p);
    }
  check_no_leak();
}

TESTING_MAIN("nonnegative", rows_follow_the_rule)
