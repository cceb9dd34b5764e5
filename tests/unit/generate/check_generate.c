/* Random tensors: exact counts, laws, independence of threads. Planted models and their recovery by
 * a small ALS. */
#include <math.h>
#include <omp.h>

#include "tests/lib/oracle_mttkrp.h"
#include "base/random.h"
#include "generate/random_tensor.h"
#include "generate/observed_tensor.h"
#include "generate/planted_tensor.h"
#include "generate/paper_shapes.h"
#include "tests/lib/testing.h"

static bool same_tensor(const amped_sptensor *a, const amped_sptensor *b) {
  bool same = a->nnz == b->nnz && a->order == b->order;
  for (int m = 0; same && m < a->order; m++)
    same = memcmp(a->indices[m], b->indices[m], a->nnz * sizeof(uint64_t)) == 0;
  return same && memcmp(a->values, b->values, a->nnz * sizeof(double)) == 0;
}

static void check_distinct_and_sorted(const amped_sptensor *t) {
  bool fine = true;
  for (uint64_t k = 1; k < t->nnz; k++) {
    int m = 0;
    while (m < t->order && t->indices[m][k - 1] == t->indices[m][k])
      m++;
    fine = fine && m < t->order && t->indices[m][k - 1] < t->indices[m][k];
  }
  ck_assert(fine);
}

START_TEST(scatter_is_a_bijection) {
  for (uint64_t dim = 1; dim < 300; dim++) {
    bool seen[300] = {false};
    for (uint64_t i = 0; i < dim; i++) {
      uint64_t j = amped_random_tensor_scatter(dim, dim * 3, i);
      ck_assert(j < dim && !seen[j]);
      seen[j] = true;
    }
  }
  for (uint64_t i = 0; i < 1000; i++)
    ck_assert(amped_random_tensor_scatter(AMPED_MAX_DIM, 1, AMPED_MAX_DIM - 1 - i) < AMPED_MAX_DIM);
}

START_TEST(tensors_have_exactly_the_nonzeros_asked_for_on_any_number_of_threads) {
  amped_random_tensor_spec specs[] = {
      {.order = 3, .dims = {30, 20, 10}, .nnz = 3000, .seed = 1}, /* half of all cells */
      {.order = 4, .dims = {100, 1, 50, 7}, .nnz = 4000, .skew = {1.2, 0, 1.0, 0.3}, .seed = 2},
      {.order = 3, .dims = {AMPED_MAX_DIM, 5, AMPED_MAX_DIM}, .nnz = 1, .skew = {1, 2, 0.5}},
      {.order = 3, .dims = {4000, 46, 900}, .nnz = 50000, .power = 3.0, .seed = 3},
      {.order = 8, .dims = {9, 8, 7, 6, 5, 4, 3, AMPED_MAX_DIM}, .nnz = 500, .power = 9, .seed = 4},
  };
  for (size_t s = 0; s < sizeof specs / sizeof specs[0]; s++) {
    amped_sptensor one;
    amped_sptensor three;
    omp_set_num_threads(1);
    check_ok(amped_random_tensor_create(&specs[s], &one));
    omp_set_num_threads(3);
    check_ok(amped_random_tensor_create(&specs[s], &three));
    ck_assert_uint_eq(one.nnz, specs[s].nnz);
    check_ok(amped_sptensor_validate(&one, "one"));
    check_distinct_and_sorted(&one);
    ck_assert(same_tensor(&one, &three));
    ck_assert(amped_sptensor_fits_float(&one));
    amped_sptensor_free(&three);
    specs[s].seed++;
    check_ok(amped_random_tensor_create(&specs[s], &three));
    ck_assert(!same_tensor(&one, &three));
    amped_sptensor_free(&one);
    amped_sptensor_free(&three);
  }
  check_no_leak();
}

/* The first distinct coordinates by counter: a tensor of fewer nonzeros is a part of a larger
 * one. */
START_TEST(more_nonzeros_contain_fewer) {
  amped_random_tensor_spec spec = {.order = 3, .dims = {40, 30, 20}, .power = 2.0, .seed = 9};
  amped_sptensor few;
  amped_sptensor many;
  spec.nnz = 1000;
  check_ok(amped_random_tensor_create(&spec, &few));
  spec.nnz = 7000;
  check_ok(amped_random_tensor_create(&spec, &many));
  uint64_t k = 0;
  for (uint64_t i = 0; i < few.nnz; i++, k++) {
    while (k < many.nnz &&
           (many.indices[0][k] != few.indices[0][i] || many.indices[1][k] != few.indices[1][i] ||
            many.indices[2][k] != few.indices[2][i]))
      k++;
    ck_assert(k < many.nnz && many.values[k] == few.values[i]);
  }
  amped_sptensor_free(&few);
  amped_sptensor_free(&many);
}

static int descending(const void *a, const void *b) {
  double x = *(const double *)a;
  double y = *(const double *)b;
  return x < y ? 1 : x > y ? -1 : 0;
}

/* Compare the counts of the indices of mode 0, descending, with p[k] n: within six standard
 * deviations. The other modes are so large that no coordinate occurs twice, which would change the
 * law. */
static void check_law(const amped_random_tensor_spec *spec, const double *p) {
  amped_sptensor t;
  uint64_t dim = spec->dims[0];
  double *counts = calloc(dim, sizeof *counts);
  ck_assert_ptr_nonnull(counts);
  check_ok(amped_random_tensor_create(spec, &t));
  for (uint64_t k = 0; k < t.nnz; k++)
    counts[t.indices[0][k]]++;
  qsort(counts, dim, sizeof *counts, descending);
  for (uint64_t i = 0; i < dim; i++) {
    double expected = p[i] * (double)t.nnz;
    ck_assert_msg(fabs(counts[i] - expected) <= 6.0 * sqrt(expected) + 1.0,
                  "index %d: %g, expected %g", (int)i, counts[i], expected);
  }
  free(counts);
  amped_sptensor_free(&t);
}

START_TEST(indices_follow_the_law_asked_for) {
  enum { DIM = 40 };
  static const double skews[] = {0.0, 0.2, 0.7, 1.0, 1.3, 2.0, 5.0};
  double p[DIM];
  amped_random_tensor_spec spec = {
      .order = 3, .dims = {DIM, UINT64_C(1) << 40, UINT64_C(1) << 40}, .nnz = 30000, .seed = 5};
  for (size_t s = 0; s < sizeof skews / sizeof skews[0]; s++) {
    double sum = 0.0;
    for (int k = 0; k < DIM; k++)
      sum += p[k] = pow(k + 1, -skews[s]);
    for (int k = 0; k < DIM; k++)
      p[k] /= sum;
    spec.skew[0] = skews[s];
    check_law(&spec, p);
  }
  spec.power = 3.0;
  for (int k = 0; k < DIM; k++)
    p[k] = cbrt((k + 1.0) / DIM) - cbrt((double)k / DIM);
  check_law(&spec, p);
}

START_TEST(what_cannot_be_had_is_a_usage_error) {
  amped_sptensor t;
  amped_random_tensor_spec spec = {.order = 3, .dims = {10, 10, 10}, .nnz = 501};
  check_fails(AMPED_USAGE, "at most half", amped_random_tensor_create(&spec, &t));
  spec.nnz = 400;
  spec.skew[0] = spec.skew[1] = spec.skew[2] = 16.0;
  check_fails(AMPED_USAGE, "distinct nonzeros; lower --skew",
              amped_random_tensor_create(&spec, &t));
  spec.skew[1] = NAN;
  check_fails(AMPED_USAGE, "of mode 2", amped_random_tensor_create(&spec, &t));
  spec.nnz = 0;
  check_fails(AMPED_USAGE, "--nnz", amped_random_tensor_create(&spec, &t));
  spec.nnz = UINT64_MAX;
  check_fails(AMPED_USAGE, "--nnz", amped_random_tensor_create(&spec, &t));
  spec.nnz = UINT64_C(1) << 47;
  spec.dims[0] = spec.dims[1] = AMPED_MAX_DIM;
  check_fails(AMPED_FAILED, "of memory", amped_random_tensor_create(&spec, &t));
  spec.dims[2] = 0;
  check_fails(AMPED_USAGE, "dimension 0 of mode 3", amped_random_tensor_create(&spec, &t));
  spec.order = 1;
  check_fails(AMPED_USAGE, "1 mode", amped_random_tensor_create(&spec, &t));
  check_no_leak();
}

START_TEST(memory_that_runs_out_leaves_nothing_behind) {
  amped_random_tensor_spec spec = {.order = 3, .dims = {30, 20, 10}, .nnz = 3000, .seed = 1};
  amped_status status = AMPED_FAILED;
  for (int64_t k = 0; status != AMPED_OK; k++) {
    amped_sptensor t;
    amped_mem_fail_at(k);
    status = amped_random_tensor_create(&spec, &t);
    amped_mem_fail_at(-1);
    ck_assert(status == AMPED_OK || status == AMPED_FAILED);
    amped_status_clear();
    if (status == AMPED_OK)
      amped_sptensor_free(&t);
    check_no_leak();
  }
}

START_TEST(shapes_scale_and_stay_sparse) {
  static const char *const names[] = {"amazon", "patents", "reddit", "twitch", "nell2", "netflix"};
  amped_shape shape;
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
    for (double scale = 1e-6; scale < 11.0; scale *= 10.0) {
      amped_shape whole;
      check_ok(amped_shape_get(names[i], 1.0, 0, &whole));
      check_ok(amped_shape_get(names[i], scale, 0, &shape));
      double cells = 1.0;
      for (int m = 0; m < shape.order; m++) {
        cells *= (double)shape.dims[m];
        ck_assert_uint_ge(shape.dims[m], 46);
        ck_assert(scale >= 1.0 || shape.dims[m] <= whole.dims[m]);
      }
      ck_assert((double)shape.nnz <= 0.011 * cells);
      ck_assert_double_eq_tol((double)shape.nnz, scale * (double)whole.nnz, 1.0);
    }
  check_ok(amped_shape_get("amazon", 1e-3, 0, &shape));
  ck_assert_uint_eq(shape.dims[0], 4821);
  check_ok(amped_shape_get("patents", 0.5, 1000, &shape));
  ck_assert_uint_eq(shape.nnz, 1000);
  ck_assert_uint_eq(shape.dims[0], 46);
  check_ok(amped_shape_get("netflix", 1.0, 0, &shape));
  ck_assert(shape.dims[0] == 480189 && shape.dims[1] == 17770 && shape.dims[2] == 2182 &&
            shape.nnz == 100000000 && shape.codes == 5);
  check_fails(AMPED_USAGE, "amazon, patents, reddit, twitch, nell2, netflix",
              amped_shape_get("amazn", 1.0, 0, &shape));
  check_fails(AMPED_USAGE, "--scale", amped_shape_get("amazon", 0.0, 0, &shape));
  check_fails(AMPED_USAGE, "--scale", amped_shape_get("amazon", NAN, 0, &shape));
}

static double model_at(const amped_ktensor *k, const amped_sptensor *t, uint64_t n) {
  double sum = 0.0;
  for (int r = 0; r < k->ncomps; r++) {
    double term = k->weights[r];
    for (int m = 0; m < k->order; m++)
      term *= k->factors[m][t->indices[m][n] * (uint64_t)k->ncomps + (uint64_t)r];
    sum += term;
  }
  return sum;
}

/* Gram matrix of a factor. */
static void gram(const amped_ktensor *k, int m, double *g) {
  int n = k->ncomps;
  for (int a = 0; a < n; a++)
    for (int b = 0; b < n; b++) {
      double sum = 0.0;
      for (uint64_t i = 0; i < k->dims[m]; i++)
        sum += k->factors[m][i * (uint64_t)n + (uint64_t)a] *
               k->factors[m][i * (uint64_t)n + (uint64_t)b];
      g[a * n + b] = sum;
    }
}

static double model_norm_squared(const amped_ktensor *k) {
  double g[8 * 8];
  double all[8 * 8];
  double sum = 0.0;
  int n = k->ncomps;
  ck_assert_int_le(n, 8);
  for (int i = 0; i < n * n; i++)
    all[i] = k->weights[i / n] * k->weights[i % n];
  for (int m = 0; m < k->order; m++) {
    gram(k, m, g);
    for (int i = 0; i < n * n; i++)
      all[i] *= g[i];
  }
  for (int i = 0; i < n * n; i++)
    sum += all[i];
  return sum;
}

START_TEST(planted_tensors_equal_their_model_everywhere) {
  amped_planted_spec specs[] = {
      {.order = 3, .dims = {60, 50, 40}, .nnz = 5000, .ncomps = 5, .seed = 1},
      {.order = 3, .dims = {3, 5000, 1000}, .nnz = 20000, .ncomps = 8, .seed = 2},
      {.order = 5, .dims = {9, 1, 300, 20, 40}, .nnz = 3000, .ncomps = 3, .seed = 3},
      {.order = 8, .dims = {4, 5, 6, 7, 8, 9, 10, 11}, .nnz = 9000, .ncomps = 2, .seed = 4},
  };
  for (size_t s = 0; s < sizeof specs / sizeof specs[0]; s++) {
    amped_sptensor t;
    amped_sptensor again;
    amped_ktensor k;
    amped_ktensor other;
    double sd = 0.0;
    omp_set_num_threads(1);
    check_ok(amped_planted_create(&specs[s], &t, &k, &sd));
    omp_set_num_threads(3);
    check_ok(amped_planted_create(&specs[s], &again, &other, &sd));
    ck_assert(same_tensor(&t, &again));
    check_ok(amped_sptensor_validate(&t, "planted"));
    check_distinct_and_sorted(&t);
    ck_assert(amped_sptensor_fits_float(&t));
    ck_assert_msg((double)t.nnz > 0.6 * (double)specs[s].nnz &&
                      (double)t.nnz < 1.5 * (double)specs[s].nnz,
                  "%d nonzeros for %d", (int)t.nnz, (int)specs[s].nnz);
    /* Some tens of rounding errors of positive terms. */
    bool equal = true;
    for (uint64_t n = 0; n < t.nnz; n++)
      equal = equal && fabs(model_at(&k, &t, n) - t.values[n]) <= 1e-13 * t.values[n];
    ck_assert(equal);
    double norm = amped_sptensor_norm_squared(&t);
    ck_assert_double_eq_tol(model_norm_squared(&k), norm, 1e-11 * norm);
    amped_sptensor_free(&t);
    amped_sptensor_free(&again);
    amped_ktensor_free(&k);
    amped_ktensor_free(&other);
  }
  check_no_leak();
}

START_TEST(planted_noise_has_the_size_asked_for) {
  amped_planted_spec spec = {
      .order = 3, .dims = {90, 80, 70}, .nnz = 20000, .ncomps = 4, .seed = 6};
  amped_sptensor clean;
  amped_sptensor noisy;
  amped_ktensor k;
  double sd = 0.0;
  check_ok(amped_planted_create(&spec, &clean, &k, &sd));
  amped_ktensor_free(&k);
  spec.noise = 0.25;
  check_ok(amped_planted_create(&spec, &noisy, &k, &sd));
  ck_assert_uint_eq(clean.nnz, noisy.nnz);
  ck_assert(amped_sptensor_fits_float(&noisy));
  double sum = 0.0;
  double squares = 0.0;
  double n = (double)clean.nnz;
  for (uint64_t i = 0; i < clean.nnz; i++) {
    double e = noisy.values[i] - clean.values[i];
    sum += e;
    squares += e * e;
  }
  double sigma = 0.25 * sqrt(amped_sptensor_norm_squared(&clean) / n);
  /* Six standard deviations of the mean and of the variance of n normal numbers. */
  ck_assert(fabs(sum / n) <= 6.0 * sigma / sqrt(n));
  ck_assert(fabs(squares / n / (sigma * sigma) - 1.0) <= 6.0 * sqrt(2.0 / n));
  amped_sptensor_free(&clean);
  amped_sptensor_free(&noisy);
  amped_ktensor_free(&k);
}

/* Solve x g = b for a symmetric positive definite g (Gauss without pivots). */
static void solve(int n, const double *g, double *b) {
  double a[8 * 8];
  memcpy(a, g, (size_t)(n * n) * sizeof *a);
  for (int p = 0; p < n; p++)
    for (int i = p + 1; i < n; i++) {
      double f = a[i * n + p] / a[p * n + p];
      for (int j = p; j < n; j++)
        a[i * n + j] -= f * a[p * n + j];
      b[i] -= f * b[p];
    }
  for (int p = n - 1; p >= 0; p--) {
    for (int j = p + 1; j < n; j++)
      b[p] -= a[p * n + j] * b[j];
    b[p] /= a[p * n + p];
  }
}

static double als_fit(const amped_sptensor *t, int ncomps, int sweeps, uint64_t seed) {
  amped_ktensor k;
  double norm = amped_sptensor_norm_squared(t);
  double inner = 0.0;
  check_ok(amped_ktensor_create(&k, t->order, t->dims, ncomps));
  for (int r = 0; r < ncomps; r++)
    k.weights[r] = 1.0;
  for (int m = 0; m < t->order; m++)
    for (uint64_t i = 0; i < t->dims[m] * (uint64_t)ncomps; i++)
      k.factors[m][i] = amped_random_double(seed, (uint64_t)m, i);
  for (int sweep = 0; sweep < sweeps; sweep++)
    for (int m = 0; m < t->order; m++) {
      double all[8 * 8];
      double g[8 * 8];
      for (int i = 0; i < ncomps * ncomps; i++)
        all[i] = 1.0;
      for (int o = 0; o < t->order; o++) {
        gram(&k, o, g);
        for (int i = 0; i < ncomps * ncomps && o != m; i++)
          all[i] *= g[i];
      }
      double *out = calloc(t->dims[m] * (uint64_t)ncomps, sizeof *out);
      ck_assert_ptr_nonnull(out);
      amped_mttkrp(t, m, (const double *const *)k.factors, ncomps, out, NULL, NULL);
      memcpy(k.factors[m], out, t->dims[m] * (uint64_t)ncomps * sizeof *out);
      for (uint64_t i = 0; i < t->dims[m]; i++)
        solve(ncomps, all, k.factors[m] + i * (uint64_t)ncomps);
      inner = 0.0;
      for (uint64_t i = 0; i < t->dims[m] * (uint64_t)ncomps; i++)
        inner += out[i] * k.factors[m][i];
      free(out);
    }
  double residual = norm + model_norm_squared(&k) - 2.0 * inner;
  amped_ktensor_free(&k);
  return 1.0 - sqrt(fmax(residual, 0.0) / norm);
}

START_TEST(als_recovers_what_was_planted) {
  amped_planted_spec spec = {.order = 3, .dims = {80, 60, 50}, .nnz = 8000, .ncomps = 4, .seed = 8};
  for (int noisy = 0; noisy < 2; noisy++) {
    amped_sptensor t;
    amped_ktensor k;
    double sd = 0.0;
    spec.noise = noisy ? 0.1 : 0.0;
    check_ok(amped_planted_create(&spec, &t, &k, &sd));
    double fit = als_fit(&t, 4, 60, 1);
    if (noisy)
      /* Noise e leaves a residual of e / sqrt(1 + e^2), slightly reduced by the hundreds of
       * parameters. */
      ck_assert_msg(fit > 0.895 && fit < 0.91, "fit %g", fit);
    else
      ck_assert_msg(fit > 0.9999, "fit %g", fit);
    amped_sptensor_free(&t);
    amped_ktensor_free(&k);
  }
  check_no_leak();
}

START_TEST(planted_numbers_must_go_together) {
  amped_sptensor t;
  amped_ktensor k;
  double sd = 0.0;
  amped_planted_spec spec = {.order = 3, .dims = {20, 20, 20}, .nnz = 79, .ncomps = 10};
  check_fails(AMPED_USAGE, "--nnz of 80 or more", amped_planted_create(&spec, &t, &k, &sd));
  spec.nnz = 4001;
  check_fails(AMPED_USAGE, "at most half", amped_planted_create(&spec, &t, &k, &sd));
  spec.nnz = 100;
  spec.ncomps = 0;
  check_fails(AMPED_USAGE, "--planted", amped_planted_create(&spec, &t, &k, &sd));
  spec.ncomps = 1;
  spec.noise = -1.0;
  check_fails(AMPED_USAGE, "--noise", amped_planted_create(&spec, &t, &k, &sd));
  spec.noise = 0.0;
  amped_status status = AMPED_FAILED;
  for (int64_t i = 0; status != AMPED_OK; i++) {
    amped_mem_fail_at(i);
    status = amped_planted_create(&spec, &t, &k, &sd);
    amped_mem_fail_at(-1);
    amped_status_clear();
    ck_assert(status == AMPED_OK || (status == AMPED_FAILED && amped_mem_live() == 0));
  }
  amped_sptensor_free(&t);
  amped_ktensor_free(&k);
  check_no_leak();
}

START_TEST(observed_tensors_are_cells_of_their_model) {
  amped_observed_spec specs[] = {
      {.order = 3, .dims = {30, 20, 10}, .share = 0.1, .ncomps = 5, .seed = 1},
      {.order = 4, .dims = {6, 1, 7, 8}, .share = 1.0, .ncomps = 8, .seed = 2},
      {.order = 8, .dims = {2, 2, 2, 2, 2, 2, 2, 2}, .share = 0.004, .ncomps = 1, .seed = 3},
      {.order = 3, .dims = {100000, 90000, 80000}, .share = 1e-11, .ncomps = 2, .seed = 4},
      {.order = 8, /* 6.6e19 cells, more than 2^64 */
       .dims = {300, 300, 300, 300, 300, 300, 300, 300},
       .share = 1e-17,
       .ncomps = 2,
       .seed = 5},
  };
  static const uint64_t counts[] = {600, 336, 1, 7200, 656};
  for (size_t s = 0; s < sizeof specs / sizeof specs[0]; s++) {
    amped_sptensor t;
    amped_sptensor again;
    amped_ktensor k;
    amped_ktensor other;
    double sd = 1.0;
    omp_set_num_threads(1);
    check_ok(amped_observed_create(&specs[s], &t, &k, &sd));
    omp_set_num_threads(3);
    check_ok(amped_observed_create(&specs[s], &again, &other, &sd));
    ck_assert(same_tensor(&t, &again) && sd == 0.0);
    check_ok(amped_sptensor_validate(&t, "observed"));
    check_distinct_and_sorted(&t);
    ck_assert_uint_eq(t.nnz, counts[s]);
    ck_assert(t.duplicates == AMPED_DUPLICATES_NONE);
    bool equal = true;
    for (uint64_t n = 0; n < t.nnz; n++)
      equal = equal && model_at(&k, &t, n) == t.values[n];
    ck_assert(equal);
    amped_sptensor_free(&t);
    amped_sptensor_free(&again);
    amped_ktensor_free(&k);
    amped_ktensor_free(&other);
  }
  check_no_leak();
}

START_TEST(observed_numbers_must_go_together) {
  amped_sptensor t;
  amped_ktensor k;
  double sd = 0.0;
  const amped_observed_spec good = {
      .order = 3, .dims = {20, 20, 20}, .share = 0.1, .ncomps = 2, .noise = 0.1, .seed = 1};
  amped_observed_spec spec = good;
  static const double shares[] = {0.0, -0.1, 1.1, NAN, INFINITY};
  for (size_t i = 0; i < sizeof shares / sizeof shares[0]; i++) {
    spec.share = shares[i];
    check_fails(AMPED_USAGE, "--observed", amped_observed_create(&spec, &t, &k, &sd));
  }
  spec.share = 1e-5;
  check_fails(AMPED_USAGE, "less than one", amped_observed_create(&spec, &t, &k, &sd));
  spec = good;
  spec.dims[0] = spec.dims[1] = AMPED_MAX_DIM;
  check_fails(AMPED_USAGE, "cells are too many to draw", amped_observed_create(&spec, &t, &k, &sd));
  spec.dims[0] = spec.dims[1] = UINT64_C(1) << 29;
  check_fails(AMPED_FAILED, "--observed", amped_observed_create(&spec, &t, &k, &sd));
  spec = good;
  spec.dims[0] = UINT64_C(1) << 62;
  spec.dims[1] = spec.dims[2] = 1;
  spec.share = 1e-18;
  check_fails(AMPED_FAILED, "the planted model", amped_observed_create(&spec, &t, &k, &sd));
  spec = good;
  spec.ncomps = 0;
  check_fails(AMPED_USAGE, "--planted", amped_observed_create(&spec, &t, &k, &sd));
  spec = good;
  spec.noise = NAN;
  check_fails(AMPED_USAGE, "--noise", amped_observed_create(&spec, &t, &k, &sd));
  spec = good;
  spec.order = 1;
  check_fails(AMPED_USAGE, "1 mode", amped_observed_create(&spec, &t, &k, &sd));
  spec = good;
  spec.dims[1] = 0;
  check_fails(AMPED_USAGE, "dimension 0", amped_observed_create(&spec, &t, &k, &sd));
  amped_status status = AMPED_FAILED;
  for (int64_t i = 0; status != AMPED_OK; i++) {
    amped_mem_fail_at(i);
    status = amped_observed_create(&good, &t, &k, &sd);
    amped_mem_fail_at(-1);
    amped_status_clear();
    ck_assert(status == AMPED_OK || status == AMPED_FAILED);
    if (status == AMPED_OK) {
      ck_assert(sd > 0.0 && amped_sptensor_fits_float(&t));
      amped_sptensor_free(&t);
      amped_ktensor_free(&k);
    }
    check_no_leak();
  }
}

TESTING_MAIN("synth", scatter_is_a_bijection,
             tensors_have_exactly_the_nonzeros_asked_for_on_any_number_of_threads,
             more_nonzeros_contain_fewer, indices_follow_the_law_asked_for,
             what_cannot_be_had_is_a_usage_error, memory_that_runs_out_leaves_nothing_behind,
             shapes_scale_and_stay_sparse, planted_tensors_equal_their_model_everywhere,
             planted_noise_has_the_size_asked_for, als_recovers_what_was_planted,
             planted_numbers_must_go_together, observed_tensors_are_cells_of_their_model,
             observed_numbers_must_go_together)
