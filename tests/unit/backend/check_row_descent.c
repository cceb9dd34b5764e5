/* Rows of every backend by coordinate descent, against the slow, obvious rule of
 * backend/row_descent.h; and sums of sizes. */
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

static double threshold(bool nonnegative, double x, double t) {
  if (nonnegative)
    return fmax(0.0, x - t);
  return copysign(fmax(0.0, fabs(x) - t), x);
}

/* Passes over a row until they end. Passes on either side of the end's threshold are both right, so
 * *margin is the last change. */
static void slow_row(uint64_t n, const amped_row_descent *d, const double *w, double *a,
                     double *margin) {
  double first = 0.0;
  for (int pass = 0; pass < AMPED_DESCENT_PASSES; pass++) {
    double change = 0.0;
    for (uint64_t r = 0; r < n; r++) {
      const double v = d->v[r * n + r];
      double x = w[r];
      for (uint64_t c = 0; c < n; c++)
        x -= a[c] * d->v[c * n + r];
      x = v > 0.0 ? threshold(d->nonnegative, a[r] + x / v, d->shrink[r] / v) : 0.0;
      change += (x - a[r]) * (x - a[r]);
      a[r] = x;
    }
    change = sqrt(change);
    *margin = change;
    if (pass == 0)
      first = change;
    else if (change <= AMPED_DESCENT_SHARE * first)
      return;
  }
}

/* Old rows are those of the factor, without their signs where new ones are nonnegative. */
static double *put_old(const bench *s, int mode, uint64_t rows, bool nonnegative) {
  const uint64_t n = (uint64_t)s->p->ncomps;
  double *old = random_rows(rows, (int)n, s->p->value_type, 31);
  for (uint64_t e = 0; e < rows * n && nonnegative; e++)
    old[e] = fabs(old[e]);
  check_ok(
      s->w.backend->factors->put_rows(s->w.factors, mode, block_first(&s->plan, mode), rows, old));
  return old;
}

static double *put_output(const bench *s, int mode, uint64_t rows) {
  const uint64_t n = (uint64_t)s->p->ncomps;
  const uint64_t all = s->plan.modes[mode].copy.output_rows;
  double *w = random_rows(all, (int)n, s->p->value_type, 44);
  for (uint64_t e = rows * n; e < all * n; e++)
    w[e] = 0.0; /* rows of padding */
  check_ok(s->w.backend->factors->put_output(s->w.factors, mode, 0, all, w));
  return w;
}

/* Sums of every third own row, of none, and of all. */
static void chosen_sums_are_right(const bench *s, int mode, const double *got, uint64_t rows) {
  const uint64_t n = (uint64_t)s->p->ncomps;
  uint8_t *chosen = NULL;
  double *sums = doubles(n);
  check_ok(amped_alloc(&chosen, rows, sizeof *chosen, "chosen rows"));
  for (uint64_t step = 1; step <= 3; step++) {
    for (uint64_t i = 0; i < rows; i++)
      chosen[i] = step != 2 && i % step == 0 ? 200 : 0;
    check_ok(s->w.backend->factors->sum_chosen(s->w.factors, mode, chosen, sums));
    for (uint64_t r = 0; r < n; r++) {
      double sum = 0.0;
      double size = 0.0;
      for (uint64_t i = 0; i < rows; i++) {
        sum += chosen[i] != 0 ? got[i * n + r] : 0.0;
        size += fabs(got[i * n + r]);
      }
      near(sums[r], sum, (double)rows * DBL_EPSILON * size, "the sum of chosen rows", r, step);
    }
  }
  amped_free(chosen);
  amped_free(sums);
}

/* sums, to which 0.5 was added before; and those of sizes. */
static void sums_are_right(const bench *s, int mode, const amped_row_sums *sums, const double *got,
                           const double *w, uint64_t rows) {
  const uint64_t n = (uint64_t)s->p->ncomps;
  const double tolerance = 1e-9 * (1.0 + (double)(rows * n));
  double *sizes = doubles(n);
  double inner = 0.5;
  check_ok(s->w.backend->factors->absolute(s->w.factors, mode, sizes));
  for (uint64_t e = 0; e < rows * n; e++)
    inner += got[e] * w[e];
  near(sums->inner, inner, tolerance, "inner", 0, 0);
  for (uint64_t r = 0; r < n; r++) {
    double size = 0.0;
    for (uint64_t i = 0; i < rows; i++)
      size += fabs(got[i * n + r]);
    near(sizes[r], size, tolerance, "sizes", r, 0);
    for (uint64_t c = 0; c < n; c++) {
      double gram = 0.0;
      for (uint64_t i = 0; i < rows; i++)
        gram += got[i * n + r] * got[i * n + c];
      near(sums->gram[r * n + c], gram, tolerance, "gram", r, c);
    }
  }
  chosen_sums_are_right(s, mode, got, rows);
  amped_free(sizes);
}

static void rows_are_right(const bench *s, int mode, amped_row_descent *d, int gone, bool twins) {
  const uint64_t n = (uint64_t)s->p->ncomps;
  const amped_mode_plan *m = &s->plan.modes[mode];
  const uint64_t rows = m->rows.rank_rows[s->plan.rank];
  double *v = gram_of(n, gone, twins);
  double *w = put_output(s, mode, rows);
  double *old = put_old(s, mode, rows, d->nonnegative);
  double *got = doubles(rows * n);
  amped_row_sums sums = {doubles(n * n), 0.5};
  d->v = v;
  for (int part = m->rows.parts; part-- > 0;)
    check_ok(s->w.backend->factors->descend(s->w.factors, mode, m->rows.part_rows[part],
                                            m->rows.part_rows[part + 1], d,
                                            mode == 1 ? NULL : &sums));
  check_ok(
      s->w.backend->factors->get_rows(s->w.factors, mode, block_first(&s->plan, mode), rows, got));
  for (uint64_t i = 0; i < rows; i++) {
    double margin = 0.0;
    for (uint64_t c = 0; c < n; c++)
      old[i * n + c] *= d->scale[c];
    slow_row(n, d, w + i * n, old + i * n, &margin);
    for (uint64_t c = 0; c < n; c++) {
      ck_assert(!d->nonnegative || got[i * n + c] >= 0.0);
      near(got[i * n + c], old[i * n + c], s->p->eps * fabs(old[i * n + c]) + 1e-9 + 1e-9 * margin,
           "a row", i, c);
      if ((int64_t)c == gone)
        ck_assert(got[i * n + c] == 0.0);
    }
  }
  if (mode != 1)
    sums_are_right(s, mode, &sums, got, w, rows);
  amped_free(sums.gram);
  amped_free(got);
  amped_free(old);
  amped_free(w);
  amped_free(v);
}

static void modes_are_right(const bench *s, int gone) {
  const uint64_t n = (uint64_t)s->p->ncomps;
  double *scale = random_rows(1, (int)n, AMPED_F64, 77);
  double *shrink = random_rows(1, (int)n, AMPED_F64, 78);
  double *none = doubles(n);
  for (uint64_t c = 0; c < n; c++) {
    scale[c] = fabs(scale[c]) * (c % 5 == 3 ? 0.0 : 1.0);
    shrink[c] = fabs(shrink[c]);
  }
  for (int m = 0; m < 3; m++) {
    amped_row_descent d = {.nonnegative = true, .scale = scale, .shrink = none};
    rows_are_right(s, m, &d, -1, false);
    rows_are_right(s, m, &d, gone, true);
    d.shrink = shrink;
    rows_are_right(s, m, &d, -1, false);
    d.nonnegative = false;
    rows_are_right(s, m, &d, gone, m == 0);
  }
  amped_free(none);
  amped_free(shrink);
  amped_free(scale);
}

START_TEST(rows_follow_the_rule) {
  static const uint64_t dims[] = {303, 1, 30};
  static const int widths[] = {1, 2, 7, 16, 31, 33, 64, 70, 129};
  for (size_t k = 0; k < sizeof widths / sizeof widths[0]; k++)
    for (int type = 0; type < 2; type++) {
      problem p;
      setup how = alone();
      how.nranks = 1 + (int)k % 2;
      how.parts = 1 + (int)k % 5;
      problem_create(&p, 3, dims, 900, widths[k], type == 0 ? AMPED_F32 : AMPED_F64);
      for (how.rank = 0; how.rank < how.nranks; how.rank++) {
        bench s;
        bench_plan(&s, &p, &how);
        bench_load(&s);
        modes_are_right(&s, widths[k] / 3);
        bench_close(&s);
      }
      problem_free(&p);
    }
  check_no_leak();
}

TESTING_MAIN("row_descent", rows_follow_the_rule)
