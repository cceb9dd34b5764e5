/* Inverse, update and pseudo-inverse against their defining equations. */
#include <float.h>
#include <math.h>

#include "base/random.h"
#include "solver/normal_equations.h"
#include "tests/lib/testing.h"

/* v = B^T B / rows of a random matrix: rank min(rows, n). */
static void make_gram(int n, int rows, uint64_t seed, double *v) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) {
      double sum = 0.0;
      for (int k = 0; k < rows; k++)
        sum += (amped_random_double(seed, (uint64_t)k, (uint64_t)i) - 0.5) *
               (amped_random_double(seed, (uint64_t)k, (uint64_t)j) - 0.5);
      v[i * n + j] = sum;
    }
}

static void multiply(int n, const double *a, const double *b, double *c) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) {
      c[i * n + j] = 0.0;
      for (int k = 0; k < n; k++)
        c[i * n + j] += a[i * n + k] * b[k * n + j];
    }
}

static double largest(int n, const double *a) {
  double most = 0.0;
  for (int i = 0; i < n * n; i++)
    most = fmax(most, fabs(a[i]));
  return most;
}

START_TEST(inverse_of_a_definite_gram_is_its_inverse) {
  static const int sizes[] = {1, 2, 7, 33};
  for (size_t s = 0; s < 4; s++) {
    int n = sizes[s];
    double v[33 * 33];
    double p[33 * 33];
    double keep[33 * 33];
    double product[33 * 33];
    bool singular = false;
    make_gram(n, 4 * n, s, v);
    check_ok(amped_inverse(n, AMPED_F64, v, p, keep, &singular));
    ck_assert(!singular);
    multiply(n, v, p, product);
    /* Forward error of an inverse: n * eps * |v| |p|, each entry summing n terms. */
    double tolerance = 8.0 * n * n * DBL_EPSILON * largest(n, v) * largest(n, p);
    for (int i = 0; i < n * n; i++)
      ck_assert_double_eq_tol(product[i], i % (n + 1) == 0 ? 1.0 : 0.0, tolerance);
    for (int i = 0; i < n * n; i++)
      ck_assert_double_eq(keep[i], 0.0);
  }
}

START_TEST(singular_grams_get_the_pseudo_inverse) {
  enum { n = 6 };
  double v[n * n];
  double p[n * n];
  double keep[n * n];
  double vp[n * n];
  double vpv[n * n];
  bool singular = false;
  make_gram(n, 9, 3, v);
  for (int i = 0; i < n; i++) { /* a zero column, as of a component that died */
    v[i * n + 2] = 0.0;
    v[2 * n + i] = 0.0;
  }
  check_ok(amped_inverse(n, AMPED_F64, v, p, keep, &singular));
  ck_assert(singular);
  multiply(n, v, p, vp);
  multiply(n, vp, v, vpv);
  for (int i = 0; i < n * n; i++) {
    ck_assert_double_eq_tol(vpv[i], v[i],
                            1e3 * n * DBL_EPSILON * largest(n, v) * largest(n, v) * largest(n, p));
    ck_assert(isfinite(p[i]));
  }
}

/* Moore and Penrose: V P V = V, P V P = P, V P symmetric; whatever the columns' lengths. */
START_TEST(pseudo_inverse_is_that_of_the_matrix_as_it_is) {
  enum { n = 6 };
  double v[n * n];
  double p[n * n];
  double vp[n * n];
  double vpv[n * n];
  double pvp[n * n];
  bool truncated = false;
  make_gram(n, 9, 3, v);
  for (int i = 0; i < n; i++) { /* column 4 is twice column 1, column 5 is long */
    v[i * n + 4] = 2.0 * v[i * n + 1];
    v[i * n + 5] *= 8.0;
  }
  for (int i = 0; i < n; i++) {
    v[4 * n + i] = 2.0 * v[n + i];
    v[5 * n + i] *= 8.0;
  }
  check_ok(amped_pseudo_inverse(n, AMPED_F64, v, p, &truncated));
  ck_assert(truncated);
  multiply(n, v, p, vp);
  multiply(n, vp, v, vpv);
  multiply(n, p, vp, pvp);
  const double size = largest(n, v) * largest(n, p);
  const double tolerance = 1e3 * n * DBL_EPSILON * size;
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) {
      ck_assert_double_eq_tol(vpv[i * n + j], v[i * n + j], tolerance * largest(n, v));
      ck_assert_double_eq_tol(pvp[i * n + j], p[i * n + j], tolerance * largest(n, p) * size);
      ck_assert_double_eq_tol(vp[i * n + j], vp[j * n + i], tolerance * size);
    }
}

/* Two columns whose cosine is 1 - gap: eigenvalues 2 - gap, of (1, 1), and gap, of (1, -1). */
START_TEST(what_rounding_would_drown_stays_as_it_is) {
  static const struct {
    amped_vtype precision;
    double gap;
    bool singular;
  } cases[] = {{.precision = AMPED_F32, .gap = 1e-9, .singular = true},
               {.precision = AMPED_F32, .gap = 1e-5, .singular = false},
               {.precision = AMPED_F64, .gap = 1e-9, .singular = false},
               {.precision = AMPED_F64,
                .gap = 1.5 * DBL_EPSILON,
                .singular = true}}; /* Cholesky takes it for definite */
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    double c = 1.0 - cases[i].gap;
    const double v[4] = {1.0, c, c, 1.0};
    double p[4];
    double keep[4];
    bool singular = !cases[i].singular;
    check_ok(amped_inverse(2, cases[i].precision, v, p, keep, &singular));
    ck_assert_int_eq(singular, cases[i].singular);
    double want = singular ? 0.5 / (2.0 - cases[i].gap) : 1.0 / (1.0 - c * c);
    ck_assert_double_eq_tol(p[0], want, 1e-6 * want);
    ck_assert_double_eq_tol(p[1], singular ? want : -c * want, 1e-6 * want);
    ck_assert_double_eq_tol(keep[0], singular ? 0.5 : 0.0, 1e-6);
    ck_assert_double_eq_tol(keep[1], singular ? -0.5 : 0.0, 1e-6);
  }
}

/* trace(a v a^T) - 2 trace(m a^T) of one row: the residual, but for |X|^2. */
static double residual(int n, const double *v, const double *m, const double *a) {
  double sum = 0.0;
  for (int i = 0; i < n; i++) {
    for (int j = 0; j < n; j++)
      sum += a[i] * v[i * n + j] * a[j];
    sum -= 2.0 * m[i] * a[i];
  }
  return sum;
}

/* Columns of any length, of which two are nearly one: wherever the old row stands, an update does
 * not raise the residual, whatever MTTKRP's row. */
START_TEST(no_update_raises_the_residual) {
  enum { n = 5 };
  static const double gaps[] = {0.0, 1e-12, 1e-9, 1e-8, 1e-7, 2e-7, 1e-6, 1e-4};
  for (size_t g = 0; g < sizeof gaps / sizeof gaps[0]; g++)
    for (uint64_t seed = 0; seed < 20; seed++) {
      double v[n * n];
      double p[n * n];
      double keep[n * n];
      double m[n];
      double old[n];
      double row[n];
      double terms = 0.0;
      bool singular = false;
      make_gram(n, 9, seed, v);
      for (int i = 0; i < n; i++)
        v[4 * n + i] = v[i * n + 4] = (1.0 - gaps[g]) * v[i * n + 1];
      v[4 * n + 4] = v[n + 1];
      for (int i = 0; i < n * n; i++)
        v[i] *= ldexp(1.0, (int)(seed % 7) * (i / n + i % n - n));
      for (int i = 0; i < n; i++) {
        m[i] = 0.0;
        old[i] = ldexp(amped_random_double(seed, 5, (uint64_t)i) - 0.5, -(int)(seed % 7) * i);
        for (int k = 0; k < n; k++) /* of a row that least squares can reach */
          m[i] += v[i * n + k] *
                  ldexp(amped_random_double(seed, 6, (uint64_t)k) - 0.5, -(int)(seed % 7) * k);
      }
      check_ok(amped_inverse(n, AMPED_F32, v, p, keep, &singular));
      ck_assert(singular ? gaps[g] < 1e-5 : gaps[g] > 1e-7);
      for (int i = 0; i < n; i++) {
        row[i] = 0.0;
        for (int k = 0; k < n; k++)
          row[i] += m[k] * p[k * n + i] + old[k] * keep[k * n + i];
      }
      for (int i = 0; i < n; i++) /* the size of what is rounded */
        for (int k = 0; k < n; k++)
          terms += fabs(v[i * n + k]) * (row[i] * row[i] / 2 + row[k] * row[k] / 2 +
                                         old[i] * old[i] + fabs(m[i] * old[i]));
      ck_assert_double_le(residual(n, v, m, row),
                          residual(n, v, m, old) + 64.0 * n * n * DBL_EPSILON * terms);
    }
}

/* Columns of other lengths make D v D of v: no more singular than v is, whatever D. */
START_TEST(lengths_of_columns_do_not_matter) {
  enum { n = 3 };
  static const double unit[] = {1.0, 0.5, 0.25, 0.5, 1.0, 0.5, 0.25, 0.5, 1.0};
  static const double lengths[] = {1.0, 3e-9, 7e11};
  double v[n * n];
  double want[n * n];
  double p[n * n];
  double keep[n * n];
  bool singular = false;
  check_ok(amped_inverse(n, AMPED_F64, unit, want, keep, &singular));
  for (int i = 0; i < n * n; i++)
    v[i] = unit[i] * lengths[i / n] * lengths[i % n];
  check_ok(amped_inverse(n, AMPED_F32, v, p, keep, &singular));
  ck_assert(!singular);
  for (int i = 0; i < n * n; i++) {
    double found = p[i] * lengths[i / n] * lengths[i % n];
    ck_assert_double_eq_tol(found, want[i], 8.0 * n * n * DBL_EPSILON * largest(n, want));
  }
}

/* Two columns are one, of two lengths: v p v is v. */
START_TEST(collinear_columns_of_any_length_are_found) {
  enum { n = 3 };
  static const double unit[] = {1.0, 1.0, 0.5, 1.0, 1.0, 0.5, 0.5, 0.5, 1.0};
  static const double lengths[] = {1.0, 3e-9, 7e11};
  double v[n * n];
  double p[n * n];
  double keep[n * n];
  double vp[n * n];
  double vpv[n * n];
  bool singular = false;
  for (int i = 0; i < n * n; i++)
    v[i] = unit[i] * lengths[i / n] * lengths[i % n];
  check_ok(amped_inverse(n, AMPED_F32, v, p, keep, &singular));
  ck_assert(singular);
  multiply(n, v, p, vp);
  multiply(n, vp, v, vpv);
  for (int i = 0; i < n * n; i++)
    ck_assert_double_eq_tol(vpv[i], v[i], 1e3 * n * DBL_EPSILON * lengths[i / n] * lengths[i % n]);
}

/* row = m and old times the matrices, in one product or in two. */
static void apply(const amped_row_matrices *a, const double *m, const double *old, double *row) {
  const int n = a->ncomps;
  double coordinates[8];
  for (int i = 0; i < n; i++) {
    coordinates[i] = 0.0;
    for (int k = 0; k < n; k++)
      coordinates[i] += m[k] * a->p[k * n + i] + (a->keeps ? old[k] * a->keep[k * n + i] : 0.0);
  }
  for (int i = 0; i < n; i++) {
    row[i] = a->turns ? 0.0 : coordinates[i];
    for (int k = 0; a->turns && k < n; k++)
      row[i] += m[k] * a->zero[k * n + i] + coordinates[k] * a->turn[k * n + i];
  }
}

/* Columns of any length, of which two are nearly one: the residual of the normal equations is that
 * of rounding, whatever the condition of v. A product with an inverse loses the condition. */
START_TEST(rows_of_nearly_parallel_columns_solve_their_equations) {
  enum { n = 5 };
  static const struct {
    double gap;
    bool turns, keeps;
  } cases[] = {
      {.gap = 1e-2, .turns = false, .keeps = false}, {.gap = 1e-5, .turns = false, .keeps = false},
      {.gap = 1e-9, .turns = true, .keeps = false},  {.gap = 1e-11, .turns = true, .keeps = false},
      {.gap = 1e-13, .turns = true, .keeps = false}, {.gap = 0.0, .turns = false, .keeps = true}};
  amped_row_matrices a;
  check_ok(amped_row_matrices_create(n, &a));
  for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++)
    for (uint64_t seed = 0; seed < 20; seed++) {
      double v[n * n];
      double m[n];
      double old[n];
      double row[n];
      make_gram(n, 9, seed, v);
      for (int i = 0; i < n; i++)
        v[4 * n + i] = v[i * n + 4] = (1.0 - cases[c].gap) * v[i * n + 1];
      v[4 * n + 4] = v[n + 1];
      for (int i = 0; i < n; i++) {
        m[i] = 0.0;
        old[i] = ldexp(amped_random_double(seed, 5, (uint64_t)i) - 0.5, -(int)(seed % 7) * i);
        for (int k = 0; k < n; k++) /* of a row that least squares can reach */
          m[i] += v[i * n + k] * (amped_random_double(seed, 6, (uint64_t)k) - 0.5);
      }
      for (int i = 0; i < n; i++) { /* lengths of columns */
        m[i] = ldexp(m[i], (int)(seed % 7) * i);
        for (int k = 0; k < n; k++)
          v[i * n + k] = ldexp(v[i * n + k], (int)(seed % 7) * (i + k));
      }
      check_ok(amped_row_matrices_find(&a, AMPED_F64, v));
      ck_assert_int_eq(a.turns, cases[c].turns);
      ck_assert_int_eq(a.keeps, cases[c].keeps);
      apply(&a, m, old, row);
      for (int i = 0; i < n; i++) {
        double left = -m[i];
        double size = fabs(m[i]);
        for (int k = 0; k < n; k++) {
          left += v[i * n + k] * row[k];
          size += fabs(v[i * n + k] * row[k]);
        }
        /* without turns: the condition below 1 / sqrt(eps) is lost */
        const double unit = cases[c].turns ? DBL_EPSILON : DBL_EPSILON / fmax(cases[c].gap, 1e-2);
        ck_assert_double_le(fabs(left), 64.0 * n * n * unit * size);
      }
    }
  amped_row_matrices_free(&a);
}

START_TEST(zero_matrix_keeps_all) {
  double v[4] = {0.0, 0.0, 0.0, 0.0};
  double p[4];
  double keep[4];
  bool singular = false;
  check_ok(amped_inverse(2, AMPED_F64, v, p, keep, &singular));
  ck_assert(singular);
  for (int i = 0; i < 4; i++) {
    ck_assert_double_eq(p[i], 0.0);
    ck_assert_double_eq(keep[i], i % 3 == 0 ? 1.0 : 0.0);
  }
}

START_TEST(infinite_gram_is_an_error) {
  double v[1] = {INFINITY};
  double p[1];
  double keep[1];
  bool singular = false;
  check_fails(AMPED_FAILED, "not finite", amped_inverse(1, AMPED_F64, v, p, keep, &singular));
}

START_TEST(hadamard_leaves_out_its_mode) {
  double a[] = {2.0};
  double b[] = {3.0};
  double c[] = {5.0};
  const double *grams[] = {a, b, c};
  double v[1];
  amped_hadamard(3, 1, grams, 1, v);
  ck_assert_double_eq(v[0], 10.0);
  amped_hadamard(3, 1, grams, -1, v);
  ck_assert_double_eq(v[0], 30.0);
}

TESTING_MAIN("solve", inverse_of_a_definite_gram_is_its_inverse,
             singular_grams_get_the_pseudo_inverse, pseudo_inverse_is_that_of_the_matrix_as_it_is,
             what_rounding_would_drown_stays_as_it_is, no_update_raises_the_residual,
             rows_of_nearly_parallel_columns_solve_their_equations,
             lengths_of_columns_do_not_matter, collinear_columns_of_any_length_are_found,
             zero_matrix_keeps_all, infinite_gram_is_an_error, hadamard_leaves_out_its_mode)
