/* Match of two models: permutations, signs, scales and weights made by hand. */
#include <float.h>
#include <math.h>

#include "tensor/match.h"
#include "base/random.h"
#include "tests/lib/testing.h"

enum { order = 3, ncomps = 4 };
static const uint64_t dims[order] = {9, 8, 7};

/* Random columns of unit length, weights 4, 3, 2, 1. */
static void make_model(amped_ktensor *k, uint64_t seed, int components) {
  check_ok(amped_ktensor_create(k, order, dims, components));
  for (int r = 0; r < components; r++) {
    k->weights[r] = components - r;
    for (int m = 0; m < order; m++) {
      double sum = 0.0;
      for (uint64_t i = 0; i < dims[m]; i++) {
        double x = amped_random_double(seed + (uint64_t)m, i, (uint64_t)r) - 0.5;
        k->factors[m][i * (uint64_t)components + (uint64_t)r] = x;
        sum += x * x;
      }
      for (uint64_t i = 0; i < dims[m]; i++)
        k->factors[m][i * (uint64_t)components + (uint64_t)r] /= sqrt(sum);
    }
  }
}

/* Copy from's component `source` to to's component r, its columns times scales. */
static void copy_component(const amped_ktensor *from, int source, amped_ktensor *to, int r,
                           const double *scales) {
  to->weights[r] = from->weights[source];
  for (int m = 0; m < order; m++) {
    for (uint64_t i = 0; i < dims[m]; i++)
      to->factors[m][i * (uint64_t)to->ncomps + (uint64_t)r] =
          scales[m] * from->factors[m][i * (uint64_t)from->ncomps + (uint64_t)source];
    to->weights[r] /= fabs(scales[m]);
  }
}

/* Tolerance for a sum of at most 9 products, divided by lengths of as many terms, and a product
 * over 3 modes. */
static const double tolerance = 64 * DBL_EPSILON;

START_TEST(permutations_signs_and_scales_do_not_count) {
  static const int from[ncomps] = {2, 0, 3, 1};
  static const double scales[ncomps][order] = {
      {-1.0, 1.0, 1.0}, {2.0, -0.5, 3.0}, {1e-3, 1e3, -7.0}, {-1.0, -1.0, -1.0}};
  amped_ktensor a, b;
  amped_match match;
  make_model(&a, 1, ncomps);
  check_ok(amped_ktensor_create(&b, order, dims, ncomps));
  for (int r = 0; r < ncomps; r++)
    copy_component(&a, from[r], &b, r, scales[r]);
  check_ok(amped_match_find(&a, &b, NULL, &match));
  ck_assert_int_eq(match.count, ncomps);
  ck_assert_double_eq_tol(match.score, 1.0, tolerance);
  for (int i = 0; i < ncomps; i++) {
    const amped_match_pair *p = &match.pairs[i];
    ck_assert_int_eq(p->a, from[p->b]);
    ck_assert_double_eq_tol(p->weight_a, a.weights[p->a], tolerance * a.weights[p->a]);
    ck_assert_double_eq_tol(p->weight_b, a.weights[p->a], tolerance * a.weights[p->a]);
    for (int m = 0; m < order; m++)
      ck_assert_double_eq_tol(p->cosines[m], scales[p->b][m] < 0.0 ? -1.0 : 1.0, tolerance);
  }
  amped_match_free(&match);
  amped_ktensor_free(&a);
  amped_ktensor_free(&b);
  check_no_leak();
}

/* Balanced columns have the same directions, and squares within the range of a double. */
START_TEST(columns_of_any_length_match) {
  static const double lengths[] = {1e-170, 1.0, 1e170, 1e-300};
  amped_ktensor a, b;
  amped_match match;
  make_model(&a, 1, ncomps);
  check_ok(amped_ktensor_create(&b, order, dims, ncomps));
  for (int r = 0; r < ncomps; r++) {
    b.weights[r] = 1.0;
    for (int m = 0; m < order; m++)
      for (uint64_t i = 0; i < dims[m]; i++)
        b.factors[m][i * ncomps + (uint64_t)r] =
            a.factors[m][i * ncomps + (uint64_t)r] * lengths[r];
  }
  amped_ktensor_balance(&a);
  amped_ktensor_balance(&b);
  check_ok(amped_match_find(&a, &b, NULL, &match));
  for (int i = 0; i < match.count; i++) {
    ck_assert_int_eq(match.pairs[i].a, match.pairs[i].b);
    ck_assert_double_eq_tol(match.pairs[i].congruence, 1.0, tolerance);
  }
  ck_assert(isfinite(match.score));
  amped_match_free(&match);
  check_ok(amped_match_find(&b, &b, NULL, &match));
  ck_assert_double_eq_tol(match.score, 1.0, tolerance);
  amped_match_free(&match);
  amped_ktensor_free(&a);
  amped_ktensor_free(&b);
  check_no_leak();
}

START_TEST(weights_are_penalised) {
  amped_ktensor a, b;
  amped_match match;
  make_model(&a, 1, ncomps);
  make_model(&b, 1, ncomps);
  b.weights[0] = -1.0; /* instead of 4: penalty 1/4 */
  b.weights[3] = 2.0;  /* instead of 1: penalty 1/2 */
  check_ok(amped_match_find(&a, &b, NULL, &match));
  ck_assert_double_eq_tol(match.score, (0.25 + 1.0 + 1.0 + 0.5) / 4.0, tolerance);
  ck_assert_double_eq_tol(match.congruence, 1.0, tolerance);
  amped_match_free(&match);
  amped_ktensor_free(&a);
  amped_ktensor_free(&b);
  check_no_leak();
}

/* Two components in the plane: the cosines are known. */
START_TEST(the_highest_score_is_taken_first) {
  static const uint64_t plane[order] = {2, 2, 2};
  /* Angles of the columns, the same in all modes. a0 is between b0 and b1 and nearer to b0, but a1
   * is still nearer to b0. So the greedy match gives b0 to a1 and b1 to a0. */
  static const double angles_a[2] = {0.3, 0.1};
  static const double angles_b[2] = {0.0, 0.9};
  amped_ktensor a, b;
  amped_match match;
  check_ok(amped_ktensor_create(&a, order, plane, 2));
  check_ok(amped_ktensor_create(&b, order, plane, 2));
  for (uint64_t r = 0; r < 2; r++) {
    a.weights[r] = b.weights[r] = 1.0;
    for (int m = 0; m < order; m++) {
      a.factors[m][r] = cos(angles_a[r]);
      a.factors[m][2 + r] = sin(angles_a[r]);
      b.factors[m][r] = cos(angles_b[r]);
      b.factors[m][2 + r] = sin(angles_b[r]);
    }
  }
  check_ok(amped_match_find(&a, &b, NULL, &match));
  ck_assert_int_eq(match.pairs[0].a, 1);
  ck_assert_int_eq(match.pairs[0].b, 0);
  ck_assert_int_eq(match.pairs[1].a, 0);
  ck_assert_int_eq(match.pairs[1].b, 1);
  ck_assert_double_eq_tol(match.score, (pow(cos(0.1), 3) + pow(cos(0.6), 3)) / 2.0, tolerance);
  amped_match_free(&match);
  amped_ktensor_free(&a);
  amped_ktensor_free(&b);
  check_no_leak();
}

START_TEST(the_fewer_components_are_matched_either_way) {
  amped_ktensor a, b;
  amped_match match;
  static const double plain[order] = {1.0, 1.0, 1.0};
  make_model(&a, 1, ncomps);
  check_ok(amped_ktensor_create(&b, order, dims, 2));
  copy_component(&a, 3, &b, 0, plain);
  copy_component(&a, 1, &b, 1, plain);
  check_ok(amped_match_find(&a, &b, NULL, &match));
  ck_assert_int_eq(match.count, 2);
  ck_assert_double_eq_tol(match.score, 1.0, tolerance);
  amped_match_free(&match);
  check_ok(amped_match_find(&b, &a, NULL, &match));
  ck_assert_int_eq(match.count, 2);
  ck_assert_double_eq_tol(match.score, 1.0, tolerance);
  for (int i = 0; i < 2; i++)
    ck_assert_int_eq(match.pairs[i].b, match.pairs[i].a == 0 ? 3 : 1);
  amped_match_free(&match);
  amped_ktensor_free(&a);
  amped_ktensor_free(&b);
  check_no_leak();
}

/* Two zero components are a pair that does not count; one that is zero matches no other. */
START_TEST(zero_components_match_each_other) {
  amped_ktensor a, b;
  amped_match match;
  make_model(&a, 1, ncomps);
  make_model(&b, 1, ncomps);
  for (uint64_t i = 0; i < dims[1]; i++)
    a.factors[1][i * ncomps + 2] = b.factors[1][i * ncomps + 2] = 0.0;
  check_ok(amped_match_find(&a, &b, NULL, &match));
  ck_assert_double_eq_tol(match.score, 1.0, tolerance);
  ck_assert_int_eq(match.zeros, 1);
  amped_match_free(&match);
  /* The others of b are orthogonal to those of a: the zero pair is no agreement. */
  for (uint64_t i = 0; i < dims[0]; i++)
    for (int r = 0; r < ncomps; r++) {
      a.factors[0][i * ncomps + (uint64_t)r] *= i == 0;
      b.factors[0][i * ncomps + (uint64_t)r] *= i == 1;
    }
  check_ok(amped_match_find(&a, &b, NULL, &match));
  ck_assert_double_eq(match.score, 0.0);
  ck_assert_double_eq(match.congruence, 0.0);
  amped_match_free(&match);
  amped_ktensor_free(&a);
  amped_ktensor_free(&b);
  make_model(&a, 1, ncomps);
  make_model(&b, 1, ncomps);
  for (uint64_t i = 0; i < dims[1]; i++) {
    a.factors[1][i * ncomps + 2] = 0.0;
    b.factors[1][i * ncomps + 2] = 1.0;
  }
  check_ok(amped_match_find(&a, &b, NULL, &match));
  ck_assert_double_eq_tol(match.score, 0.75, tolerance);
  for (int i = 0; i < ncomps; i++)
    ck_assert(isfinite(match.pairs[i].score));
  amped_match_free(&match);
  amped_ktensor_free(&a);
  amped_ktensor_free(&b);
  check_no_leak();
}

/* b is a with its rows in another order; then also with one row more in a mode of each. */
START_TEST(rows_are_matched_as_told) {
  static const uint64_t more[order] = {9, 9, 7};
  uint64_t turned[9];
  const uint64_t *const rows[AMPED_MAX_ORDER] = {turned, NULL, NULL};
  const uint64_t *const lacking[AMPED_MAX_ORDER] = {NULL, turned, NULL};
  amped_ktensor a, b, c;
  amped_match match;
  make_model(&a, 1, ncomps);
  make_model(&b, 1, ncomps);
  for (uint64_t i = 0; i < dims[0]; i++) {
    turned[i] = dims[0] - 1 - i;
    memcpy(b.factors[0] + turned[i] * ncomps, a.factors[0] + i * ncomps, ncomps * sizeof(double));
  }
  check_ok(amped_match_find(&a, &b, rows, &match));
  ck_assert_double_eq_tol(match.score, 1.0, tolerance);
  amped_match_free(&match);
  check_ok(amped_match_find(&a, &b, NULL, &match));
  ck_assert_double_lt(match.score, 0.9);
  amped_match_free(&match);

  /* c is a with a first row of ones in mode 1, and without a's last row. */
  check_ok(amped_ktensor_create(&c, order, more, ncomps));
  memcpy(c.weights, a.weights, ncomps * sizeof(double));
  for (int m = 0; m < order; m++)
    memcpy(c.factors[m] + (m == 1 ? ncomps : 0), a.factors[m], dims[m] * ncomps * sizeof(double));
  for (uint64_t i = 0; i < dims[1]; i++)
    turned[i] = i + 1;
  turned[dims[1] - 1] = AMPED_MATCH_NO_ROW;
  for (uint64_t r = 0; r < ncomps; r++) {
    c.factors[1][r] = 1.0;
    c.factors[1][dims[1] * ncomps + r] = 0.0;
  }
  check_ok(amped_match_find(&a, &c, lacking, &match));
  for (int i = 0; i < match.count; i++) {
    const amped_match_pair *p = &match.pairs[i];
    double last = a.factors[1][(dims[1] - 1) * ncomps + (uint64_t)p->a];
    /* Columns of a have length 1: of c, the square of the last entry less and 1 more. */
    double shared = 1.0 - last * last;
    ck_assert_int_eq(p->a, p->b);
    ck_assert_double_eq_tol(p->cosines[1], shared / sqrt(shared + 1.0), tolerance);
  }
  amped_match_free(&match);
  check_fails(AMPED_BAD_INPUT, "mode 2 has 8 indices", amped_match_find(&a, &c, NULL, &match));
  amped_ktensor_free(&a);
  amped_ktensor_free(&b);
  amped_ktensor_free(&c);
  check_no_leak();
}

START_TEST(other_shapes_and_failing_memory_are_refused) {
  static const uint64_t longer[order] = {9, 8, 6};
  amped_ktensor a, b;
  amped_match match;
  make_model(&a, 1, ncomps);
  check_ok(amped_ktensor_create(&b, order, longer, ncomps));
  check_fails(AMPED_BAD_INPUT, "mode 3 has 7 indices", amped_match_find(&a, &b, NULL, &match));
  b.order = 2;
  check_fails(AMPED_BAD_INPUT, "3 and of 2 modes", amped_match_find(&a, &b, NULL, &match));
  b.order = order;
  amped_ktensor_free(&b);
  make_model(&b, 2, ncomps);
  int64_t live = amped_mem_live();
  amped_status status = AMPED_FAILED;
  for (int64_t k = 0; status != AMPED_OK; k++) {
    ck_assert_int_le(k, 100);
    amped_mem_fail_at(k);
    status = amped_match_find(&a, &b, NULL, &match);
    amped_mem_fail_at(-1);
    if (status != AMPED_OK)
      ck_assert_int_eq(amped_mem_live(), live);
    amped_status_clear();
  }
  amped_match_free(&match);
  amped_ktensor_free(&a);
  amped_ktensor_free(&b);
  check_no_leak();
}

TESTING_MAIN("match", permutations_signs_and_scales_do_not_count, columns_of_any_length_match,
             weights_are_penalised, the_highest_score_is_taken_first,
             the_fewer_components_are_matched_either_way, zero_components_match_each_other,
             rows_are_matched_as_told, other_shapes_and_failing_memory_are_refused)
