/* Dictionary of values: the distinct values, wherever they lie, for any number of threads. */
#include <omp.h>

#include "base/random.h"
#include "tensor/dictionary.h"
#include "tests/lib/testing.h"

#define MANY UINT64_C(2500000)

static int ascending(const void *left, const void *right) {
  const double a = *(const double *)left;
  const double b = *(const double *)right;
  return a < b ? -1 : a > b;
}

/* The distinct values, ascending; minus zero is zero. Returns their number. */
static uint64_t distinct(const double *values, uint64_t n, double *out) {
  uint64_t count = 0;
  for (uint64_t k = 0; k < n; k++)
    out[k] = values[k] + 0.0;
  qsort(out, n, sizeof *out, ascending);
  for (uint64_t k = 0; k < n; k++)
    if (k == 0 || out[k] != out[k - 1])
      out[count++] = out[k];
  return count;
}

static void check_dictionary(const double *values, uint64_t n) {
  double *want = malloc(n * sizeof *want);
  ck_assert_ptr_nonnull(want);
  const uint64_t count = distinct(values, n, want);
  for (int threads = 1; threads <= 5; threads += 2)
    for (uint64_t piece = n; piece > n / 50; piece /= 7) {
      amped_dictionary_search s;
      amped_dictionary d;
      omp_set_num_threads(threads);
      check_ok(amped_dictionary_search_begin(&s));
      for (uint64_t first = 0; first < n; first += piece)
        amped_dictionary_search_add(&s, values + first, AMPED_F64,
                                    n - first < piece ? n - first : piece);
      check_ok(amped_dictionary_search_end(&s, &d));
      ck_assert_uint_eq(d.count, count <= AMPED_MAX_CODES ? count : 0);
      if (d.count > 0)
        ck_assert_mem_eq(d.values, want, count * sizeof *want);
      amped_dictionary_free(&d);
    }
  free(want);
}

START_TEST(a_dictionary_holds_the_distinct_values_wherever_they_lie) {
  double *values = malloc(MANY * sizeof *values);
  ck_assert_ptr_nonnull(values);
  for (uint64_t k = 0; k < MANY; k++)
    values[k] = (double)(amped_random_u64(3, 1, k) % 300) - 150.0;
  values[MANY / 3] = -0.0;
  check_dictionary(values, 1);
  check_dictionary(values, 5000);
  /* Values that come late, and once */
  for (uint64_t k = 0; k < MANY; k += 99991)
    values[k] = 1000.5 + (double)k;
  values[MANY - 1] = 1e300;
  check_dictionary(values, MANY);
  free(values);
  check_no_leak();
}

START_TEST(one_value_too_many_leaves_no_dictionary) {
  double *values = malloc(MANY * sizeof *values);
  ck_assert_ptr_nonnull(values);
  for (uint64_t k = 0; k < MANY; k++)
    values[k] = (double)(k % AMPED_MAX_CODES);
  check_dictionary(values, MANY);
  values[MANY - 2] = 0.5;
  check_dictionary(values, MANY);
  check_dictionary(values, MANY - 2);
  free(values);
  check_no_leak();
}

TESTING_MAIN("dictionary", a_dictionary_holds_the_distinct_values_wherever_they_lie,
             one_value_too_many_leaves_no_dictionary)
