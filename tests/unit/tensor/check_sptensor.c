/* Coordinate lists: sorting against a comparison sort, duplicates, norm, hash, validation. */
#include <math.h>
#include <omp.h>

#include "base/random.h"
#include "base/sort.h"
#include "tensor/sptensor.h"
#include "tests/lib/testing.h"

static uint64_t counter;

static uint64_t draw(uint64_t below) {
  return amped_random_u64(17, 0, counter++) % below;
}

/* Random nonzeros whose values are their places. */
static void make(amped_sptensor *t, int order, const uint64_t *dims, uint64_t nnz) {
  check_ok(amped_sptensor_create(t, order, nnz));
  for (int m = 0; m < order; m++) {
    t->dims[m] = dims[m];
    for (uint64_t k = 0; k < nnz; k++)
      t->indices[m][k] = draw(dims[m]);
  }
  for (uint64_t k = 0; k < nnz; k++)
    t->values[k] = (double)k;
}

/* Is t equal to `was` after a stable comparison sort by mode? The sort orders by (mode, 0, 1, ...)
 * and then by place, which the values hold. */
static const amped_sptensor *sorting;
static int sorting_mode;

static int compare_places(const void *a, const void *b) {
  uint64_t x = *(const uint64_t *)a;
  uint64_t y = *(const uint64_t *)b;
  for (int i = -1; i < sorting->order; i++) {
    const uint64_t *index = sorting->indices[i < 0 ? sorting_mode : i];
    if (index[x] != index[y])
      return index[x] < index[y] ? -1 : 1;
  }
  return x < y ? -1 : x > y;
}

static void check_sorted(const amped_sptensor *was, const amped_sptensor *t, int mode) {
  uint64_t *place = malloc((was->nnz + 1) * sizeof *place);
  ck_assert_ptr_nonnull(place);
  for (uint64_t k = 0; k < was->nnz; k++)
    place[k] = k;
  sorting = was;
  sorting_mode = mode;
  qsort(place, was->nnz, sizeof *place, compare_places);
  ck_assert_uint_eq(t->nnz, was->nnz);
  bool same = true;
  for (uint64_t k = 0; k < t->nnz; k++) {
    for (int m = 0; m < t->order; m++)
      same = same && t->indices[m][k] == was->indices[m][place[k]];
    same = same && t->values[k] == was->values[place[k]];
  }
  ck_assert(same);
  free(place);
}

static void copy(amped_sptensor *to, const amped_sptensor *from) {
  check_ok(amped_sptensor_create(to, from->order, from->nnz));
  for (int m = 0; m < from->order; m++) {
    to->dims[m] = from->dims[m];
    memcpy(to->indices[m], from->indices[m], from->nnz * sizeof(uint64_t));
  }
  memcpy(to->values, from->values, from->nnz * sizeof(double));
}

START_TEST(sort_is_a_stable_lexicographic_sort_from_any_order_to_any_mode) {
  static const uint64_t shapes[][AMPED_MAX_ORDER] = {
      {5, 4, 3, 6, 2, 3, 7, 4},
      {1, 1000, 1, 70000, 1, 1, 2, 1},
      {AMPED_MAX_DIM, AMPED_MAX_DIM, AMPED_MAX_DIM, 3, AMPED_MAX_DIM, 2, AMPED_MAX_DIM, 9},
      {UINT64_C(1) << 33, 100, UINT64_C(1) << 31, 1 << 20, 255, 256, 257, AMPED_MAX_DIM}};
  for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++)
    for (int order = AMPED_MIN_ORDER; order <= AMPED_MAX_ORDER; order++)
      for (int from = -1; from < order; from++)
        for (int to = 0; to < order; to += 1 + (order > 4)) {
          amped_sptensor was;
          amped_sptensor t;
          make(&was, order, shapes[s], 300);
          if (from >= 0)
            check_ok(amped_sptensor_sort(&was, from));
          copy(&t, &was);
          check_ok(amped_sptensor_sort(&t, to));
          check_sorted(&was, &t, to);
          amped_sptensor_free(&was);
          amped_sptensor_free(&t);
        }
  check_no_leak();
}

START_TEST(sort_does_not_depend_on_threads) {
  static const uint64_t dims[] = {50, 3, 2000, 7};
  for (int threads = 1; threads <= 7; threads += 2) {
    amped_sptensor was;
    amped_sptensor t;
    counter = 0;
    make(&was, 4, dims, 100003);
    copy(&t, &was);
    omp_set_num_threads(threads);
    check_ok(amped_sptensor_sort(&t, 1));
    check_sorted(&was, &t, 1);
    amped_sptensor_free(&was);
    amped_sptensor_free(&t);
  }
}

START_TEST(long_keys_are_sorted_in_words_of_any_length) {
  enum { N = 500 };
  static const int words[] = {1, 3, 8, 13, 31, 32, 63, 64, 0};
  static uint64_t low[N];
  static uint64_t high[N];
  static uint64_t place[N];
  for (size_t w = 0; w < sizeof words / sizeof words[0]; w++) {
    for (uint64_t i = 0; i < N; i++) {
      low[i] = amped_random_u64(1, w, i) >> (i % 60);
      high[i] = amped_random_u64(2, w, i) % 3;
      place[i] = i;
    }
    amped_sort_field fields[] = {{high, amped_sort_bits(high, N)}, {low, 64}};
    void *arrays[] = {low, high, place};
    check_ok(amped_sort(N, fields, 2, words[w], arrays, 3));
    for (uint64_t i = 0; i < N; i++) {
      ck_assert_uint_eq(low[i], amped_random_u64(1, w, place[i]) >> (place[i] % 60));
      ck_assert_uint_eq(high[i], amped_random_u64(2, w, place[i]) % 3);
      if (i > 0)
        ck_assert(high[i - 1] < high[i] || (high[i - 1] == high[i] && low[i - 1] <= low[i]));
    }
  }
}

START_TEST(sort_leaves_the_tensor_alone_where_memory_does_not_suffice) {
  static const uint64_t dims[] = {50, 30, 20};
  amped_sptensor was;
  amped_sptensor t;
  make(&was, 3, dims, 1000);
  copy(&t, &was);
  for (int k = 0; k < 3; k++) {
    amped_mem_fail_at(k);
    check_fails(AMPED_FAILED, "out of memory", amped_sptensor_sort(&t, 0));
    amped_mem_fail_at(-1);
    for (int m = 0; m < 3; m++)
      ck_assert(memcmp(t.indices[m], was.indices[m], 1000 * sizeof(uint64_t)) == 0);
  }
  for (int k = 0; k < 4; k++) {
    amped_sptensor none;
    amped_mem_fail_at(k);
    check_fails(AMPED_FAILED, "out of memory", amped_sptensor_create(&none, 3, 10));
    amped_mem_fail_at(-1);
  }
  amped_sptensor_free(&was);
  amped_sptensor_free(&t);
  check_no_leak();
}

/* The sum of the values at one coordinate, in order of appearance. */
static double slow_sum(const amped_sptensor *t, const amped_sptensor *at, uint64_t k,
                       uint64_t *times) {
  double sum = 0.0;
  *times = 0;
  for (uint64_t i = 0; i < t->nnz; i++) {
    bool same = true;
    for (int m = 0; m < t->order; m++)
      same = same && t->indices[m][i] == at->indices[m][k];
    if (same) {
      sum = *times == 0 ? t->values[i] : sum + t->values[i];
      (*times)++;
    }
  }
  return sum;
}

START_TEST(duplicates_are_summed_in_order_of_appearance) {
  static const uint64_t dims[] = {4, 5, 6, 3};
  amped_sptensor was;
  amped_sptensor t;
  uint64_t found = 0;
  make(&was, 4, dims, 900);
  for (uint64_t k = 0; k < was.nnz; k++)
    was.values[k] = amped_random_double(3, 3, k) - 0.5;
  copy(&t, &was);
  check_ok(amped_sptensor_sort(&t, 0));
  check_ok(amped_sptensor_merge(&t, AMPED_DUPLICATES_KEEP, "here", &found));
  ck_assert_uint_eq(t.nnz, 900);
  uint64_t kept = found;
  double norm_kept = amped_sptensor_norm_squared(&t);
  check_ok(amped_sptensor_merge(&t, AMPED_DUPLICATES_SUM, "here", &found));
  ck_assert_uint_eq(found, kept);
  ck_assert_uint_eq(t.nnz, 900 - found);
  uint64_t all = 0;
  for (uint64_t k = 0; k < t.nnz; k++) {
    uint64_t times = 0;
    ck_assert(t.values[k] == slow_sum(&was, &t, k, &times));
    all += times;
  }
  ck_assert_uint_eq(all, 900);
  ck_assert(amped_sptensor_norm_squared(&t) == norm_kept);
  check_ok(amped_sptensor_merge(&t, AMPED_DUPLICATES_ERROR, "here", &found));
  ck_assert_uint_eq(found, 0);
  amped_sptensor_free(&was);
  amped_sptensor_free(&t);
  check_no_leak();
}

static void make_line(amped_sptensor *t, uint64_t nnz) {
  check_ok(amped_sptensor_create(t, 3, nnz));
  for (int m = 0; m < 3; m++) {
    t->dims[m] = m == 2 ? nnz : 1;
    for (uint64_t k = 0; k < nnz; k++)
      t->indices[m][k] = m == 2 ? k : 0;
  }
  for (uint64_t k = 0; k < nnz; k++)
    t->values[k] = 1.0;
}

/* One merge of all, and merges of pieces of any size, give the same mean or last value. */
static void check_pieces(const amped_sptensor *all, amped_duplicates how, uint64_t piece) {
  amped_sptensor want;
  amped_sptensor t;
  amped_sptensor_group group = {0, 0.0L};
  uint64_t found = 0;
  uint64_t total = 0;
  uint64_t at = 0;
  copy(&want, all);
  check_ok(amped_sptensor_merge(&want, how, "here", &found));
  check_ok(amped_sptensor_create(&t, all->order, piece + 1));
  t.nnz = 0;
  for (uint64_t first = 0; first < all->nnz; first += piece) {
    uint64_t now = 0;
    for (uint64_t k = first; k < first + piece && k < all->nnz; k++, t.nnz++) {
      for (int m = 0; m < all->order; m++)
        t.indices[m][t.nnz] = all->indices[m][k];
      t.values[t.nnz] = all->values[k];
    }
    check_ok(amped_sptensor_merge_piece(&t, how, &group, "here", &now));
    total += now;
    const uint64_t done = first + piece < all->nnz ? t.nnz - 1 : t.nnz;
    for (uint64_t k = 0; k < done; k++, at++)
      ck_assert(t.values[k] == want.values[at] && t.indices[0][k] == want.indices[0][at]);
    for (int m = 0; m < all->order; m++)
      t.indices[m][0] = t.indices[m][t.nnz - 1];
    t.values[0] = t.values[t.nnz - 1];
    t.nnz = 1;
  }
  ck_assert_uint_eq(at, want.nnz);
  ck_assert_uint_eq(total, found);
  amped_sptensor_free(&t);
  amped_sptensor_free(&want);
}

START_TEST(pieces_are_merged_as_the_whole) {
  static const uint64_t dims[] = {3, 4, 5};
  amped_sptensor t;
  make(&t, 3, dims, 400);
  for (uint64_t k = 0; k < t.nnz; k++)
    t.values[k] = amped_random_double(3, 4, k) - 0.5;
  check_ok(amped_sptensor_sort(&t, 0));
  for (uint64_t piece = 1; piece < 20; piece += 3) {
    check_pieces(&t, AMPED_DUPLICATES_SUM, piece);
    check_pieces(&t, AMPED_DUPLICATES_MEAN, piece);
    check_pieces(&t, AMPED_DUPLICATES_LAST, piece);
  }
  amped_sptensor_free(&t);
  check_no_leak();
}

START_TEST(duplicates_have_their_mean_or_the_last_value) {
  amped_sptensor t;
  uint64_t found = 0;
  for (int i = 0; i < 2; i++) {
    make_line(&t, 6);
    t.indices[2][1] = t.indices[2][2] = 0;
    t.indices[2][5] = 4;
    t.values[0] = 1.0;
    t.values[1] = 4.0;
    t.values[2] = -2.0;
    t.values[4] = t.values[5] = 1e308;
    check_ok(amped_sptensor_merge(&t, i == 0 ? AMPED_DUPLICATES_MEAN : AMPED_DUPLICATES_LAST,
                                  "here", &found));
    ck_assert_uint_eq(found, 3);
    ck_assert_uint_eq(t.nnz, 3);
    ck_assert(t.values[0] == (i == 0 ? 1.0 : -2.0) && t.values[1] == 1.0 && t.values[2] == 1e308);
    amped_sptensor_free(&t);
  }
}

START_TEST(a_tensor_tells_what_became_of_duplicates) {
  static const amped_duplicates told[] = {AMPED_DUPLICATES_NONE, AMPED_DUPLICATES_SUM,
                                          AMPED_DUPLICATES_MEAN, AMPED_DUPLICATES_LAST,
                                          AMPED_DUPLICATES_KEEP};
  for (size_t i = 0; i < sizeof told / sizeof told[0]; i++) {
    ck_assert(amped_duplicates_named(amped_duplicates_name(told[i])) == told[i]);
    ck_assert(amped_duplicates_after(told[i], AMPED_DUPLICATES_LAST, 1) == AMPED_DUPLICATES_LAST);
    ck_assert(amped_duplicates_after(told[i], AMPED_DUPLICATES_LAST, 0) ==
              (told[i] == AMPED_DUPLICATES_KEEP ? AMPED_DUPLICATES_NONE : told[i]));
  }
  ck_assert(amped_duplicates_name(AMPED_DUPLICATES_UNKNOWN) == NULL);
  ck_assert(amped_duplicates_name(AMPED_DUPLICATES_ERROR) == NULL);
  ck_assert(amped_duplicates_named("error") == AMPED_DUPLICATES_UNKNOWN);
  ck_assert(amped_duplicates_after(AMPED_DUPLICATES_UNKNOWN, AMPED_DUPLICATES_SUM, 0) ==
            AMPED_DUPLICATES_UNKNOWN);
}

START_TEST(duplicates_are_refused_where_told_and_sums_must_be_finite) {
  amped_sptensor t;
  uint64_t found = 0;
  make_line(&t, 5);
  t.indices[2][3] = 2;
  t.indices[2][4] = 2;
  check_fails(AMPED_BAD_INPUT, "2 duplicates of coordinates, the first is (1, 1, 3)",
              amped_sptensor_merge(&t, AMPED_DUPLICATES_ERROR, "here", &found));
  t.values[2] = t.values[3] = t.values[4] = 1e308;
  check_fails(AMPED_BAD_INPUT, "here: the values at (1, 1, 3) add up to infinity",
              amped_sptensor_merge(&t, AMPED_DUPLICATES_SUM, "here", &found));
  amped_sptensor_free(&t);
}

START_TEST(zeros_are_dropped_in_order) {
  amped_sptensor t;
  uint64_t dropped = 0;
  make_line(&t, 6);
  t.values[0] = t.values[3] = 0.0;
  t.values[5] = -0.0;
  t.values[4] = 7.0;
  amped_sptensor_drop_zeros(&t, &dropped);
  ck_assert_uint_eq(dropped, 3);
  ck_assert_uint_eq(t.nnz, 3);
  ck_assert_uint_eq(t.indices[2][0], 1);
  ck_assert_uint_eq(t.indices[2][1], 2);
  ck_assert_uint_eq(t.indices[2][2], 4);
  ck_assert(t.values[2] == 7.0);
  for (uint64_t k = 0; k < 3; k++)
    t.values[k] = 0.0;
  amped_sptensor_drop_zeros(&t, &dropped);
  ck_assert_uint_eq(t.nnz, 0);
  ck_assert(amped_sptensor_norm_squared(&t) == 0.0);
  amped_sptensor_free(&t);
}

START_TEST(norm_is_exact_to_rounding_and_the_same_for_any_threads) {
  amped_sptensor t;
  make_line(&t, 300000);
  /* A plain double sum loses 1e0^2 beside 1e8^2: the sum is 150000 + 150000e16 exactly. */
  for (uint64_t k = 0; k < t.nnz; k++)
    t.values[k] = k % 2 == 0 ? 1e8 : 1.0;
  double expected = 150000.0e16 + 150000.0;
  for (int threads = 1; threads <= 5; threads++) {
    omp_set_num_threads(threads);
    ck_assert(amped_sptensor_norm_squared(&t) == expected);
  }
  /* One coordinate from before the first block border of 65536 to after the second: it counts
   * once. */
  for (uint64_t k = 65000; k < 140000; k++)
    t.indices[2][k] = 65000;
  for (uint64_t k = 0; k < t.nnz; k++)
    t.values[k] = 1.0;
  expected = 225000.0 + 75000.0 * 75000.0;
  for (int threads = 1; threads <= 5; threads++) {
    omp_set_num_threads(threads);
    ck_assert(amped_sptensor_norm_squared(&t) == expected);
  }
  t.values[0] = 1e200;
  ck_assert(isinf(amped_sptensor_norm_squared(&t)));
  amped_sptensor_free(&t);
}

START_TEST(hash_is_of_the_set_of_nonzeros) {
  static const uint64_t dims[] = {40, 30, 20, 10};
  amped_sptensor t;
  make(&t, 4, dims, 5000);
  uint64_t hash = amped_sptensor_hash(&t);
  for (int mode = 3; mode >= 0; mode--) {
    check_ok(amped_sptensor_sort(&t, mode));
    omp_set_num_threads(mode + 1);
    ck_assert_uint_eq(amped_sptensor_hash(&t), hash);
  }
  t.values[7] += 1.0;
  ck_assert_uint_ne(amped_sptensor_hash(&t), hash);
  t.values[7] -= 1.0;
  uint64_t a = t.indices[0][7];
  t.indices[0][7] = t.indices[1][7];
  t.indices[1][7] = a;
  ck_assert(t.indices[0][7] == a || amped_sptensor_hash(&t) != hash);
  amped_sptensor_free(&t);
}

START_TEST(float_fit_is_seen) {
  amped_sptensor t;
  make_line(&t, 100);
  t.values[50] = 0x1.fffffep127;
  t.values[51] = -0x1p-149;
  ck_assert(amped_sptensor_fits_float(&t));
  static const double wide[] = {0.1, 1e300, -1e300, 0x1p-150, 16777217.0, 0x1.ffffffp127};
  for (size_t i = 0; i < sizeof wide / sizeof wide[0]; i++) {
    t.values[99] = wide[i];
    ck_assert(!amped_sptensor_fits_float(&t));
  }
  amped_sptensor_free(&t);
}

START_TEST(facts_found_together_are_those_found_alone) {
  static const uint64_t dims[] = {9, 300, 70};
  static const uint64_t counts[] = {0, 1, AMPED_NORM_SECTION, 5 * AMPED_NORM_SECTION / 2};
  for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++)
    for (int threads = 1; threads < 4; threads++) {
      amped_sptensor t;
      make(&t, 3, dims, counts[c]);
      if (threads == 2 && t.nnz > 0)
        t.values[t.nnz - 1] = 0.1;
      check_ok(amped_sptensor_sort(&t, 1)); /* of the largest, some coordinates repeat */
      omp_set_num_threads(threads);
      const amped_sptensor_facts facts = amped_sptensor_facts_of(&t);
      ck_assert_uint_eq(facts.zeros, amped_sptensor_zeros(&t));
      ck_assert_uint_eq(facts.hash, amped_sptensor_hash(&t));
      ck_assert(facts.norm_squared == amped_sptensor_norm_squared(&t));
      ck_assert(facts.fits_float == amped_sptensor_fits_float(&t));
      ck_assert(facts.fits_float == (threads != 2 || t.nnz == 0));
      amped_sptensor_free(&t);
    }
}

START_TEST(validate_names_what_is_wrong_and_where) {
  amped_sptensor t;
  make_line(&t, 10);
  check_ok(amped_sptensor_validate(&t, "f"));
  t.indices[1][6] = 1;
  t.indices[2][8] = 99;
  check_fails(AMPED_BAD_INPUT, "f: nonzero 7 has index 1 (from 0) in mode 2, whose dimension is 1",
              amped_sptensor_validate(&t, "f"));
  t.indices[1][6] = 0;
  t.indices[2][8] = 8;
  t.values[9] = NAN;
  check_fails(AMPED_BAD_INPUT, "nonzero 10 has the value", amped_sptensor_validate(&t, "f"));
  t.values[9] = -INFINITY;
  check_fails(AMPED_BAD_INPUT, "must be finite", amped_sptensor_validate(&t, "f"));
  t.values[9] = 1.0;
  t.dims[0] = 0;
  check_fails(AMPED_BAD_INPUT, "mode 1 has dimension 0", amped_sptensor_validate(&t, "f"));
  t.dims[0] = AMPED_MAX_DIM + 1;
  check_fails(AMPED_BAD_INPUT, "mode 1 has dimension", amped_sptensor_validate(&t, "f"));
  t.dims[0] = AMPED_MAX_DIM;
  check_ok(amped_sptensor_validate(&t, "f"));
  t.labels[2].count = 9;
  check_fails(AMPED_BAD_INPUT, "9 labels for 10", amped_sptensor_validate(&t, "f"));
  t.labels[2].count = 0;
  t.nnz = 0;
  check_fails(AMPED_BAD_INPUT, "no nonzeros", amped_sptensor_validate(&t, "f"));
  t.nnz = 10;
  t.order = 1;
  check_fails(AMPED_BAD_INPUT, "has 1 mode", amped_sptensor_validate(&t, "f"));
  t.order = 9;
  check_fails(AMPED_BAD_INPUT, "has 9 modes", amped_sptensor_validate(&t, "f"));
  t.order = 3;
  amped_sptensor_free(&t);
  amped_sptensor none;
  check_fails(AMPED_BAD_INPUT, "order 9", amped_sptensor_create(&none, 9, 1));
  check_fails(AMPED_BAD_INPUT, "order 0", amped_sptensor_create(&none, 0, 1));
  check_fails(AMPED_FAILED, "out of memory", amped_sptensor_create(&none, 3, UINT64_MAX / 4));
  check_no_leak();
}

TESTING_MAIN("sptensor", sort_is_a_stable_lexicographic_sort_from_any_order_to_any_mode,
             sort_does_not_depend_on_threads, long_keys_are_sorted_in_words_of_any_length,
             sort_leaves_the_tensor_alone_where_memory_does_not_suffice,
             duplicates_are_summed_in_order_of_appearance, pieces_are_merged_as_the_whole,
             duplicates_have_their_mean_or_the_last_value, a_tensor_tells_what_became_of_duplicates,
             duplicates_are_refused_where_told_and_sums_must_be_finite, zeros_are_dropped_in_order,
             norm_is_exact_to_rounding_and_the_same_for_any_threads, hash_is_of_the_set_of_nonzeros,
             float_fit_is_seen, facts_found_together_are_those_found_alone,
             validate_names_what_is_wrong_and_where)
