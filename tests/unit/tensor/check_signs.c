/* Signs: models of every pattern of negative columns, ties, zeros, lengths. */
#include <math.h>

#include "base/random.h"
#include "tensor/signs.h"
#include "tests/lib/testing.h"

/* Random columns, the modes of the bits of `pattern` with a negative leading entry. */
static void make_model(amped_ktensor *k, int order, const uint64_t *dims, unsigned pattern) {
  check_ok(amped_ktensor_create(k, order, dims, 1));
  k->weights[0] = 2.0;
  for (int m = 0; m < order; m++) {
    for (uint64_t i = 0; i < dims[m]; i++)
      k->factors[m][i] = amped_random_double(3, (uint64_t)m, i) - 0.5;
    k->factors[m][dims[m] / 2] = pattern >> m & 1 ? -0.75 : 0.75;
  }
}

/* Is the leading entry of column r negative in the model as it is written? */
static bool is_negative(const amped_ktensor *k, const amped_signs *signs, int mode, int r) {
  const uint64_t n = (uint64_t)k->ncomps;
  const double *column = k->factors[mode] + r;
  uint64_t lead = 0;
  for (uint64_t i = 1; i < k->dims[mode]; i++)
    if (fabs(column[i * n]) > fabs(column[lead * n]))
      lead = i;
  return (column[lead * n] < 0.0) != signs->negated[mode][r];
}

/* The number of columns that are negated: even, so that the model stays the same. */
static int count_negated(const amped_ktensor *k, const amped_signs *signs, int r) {
  int count = 0;
  for (int m = 0; m < k->order; m++)
    count += signs->negated[m][r];
  return count;
}

START_TEST(leading_entries_are_positive_but_one_of_the_longest_mode) {
  static const uint64_t dims[] = {5, 2, 9, 3, 8, 9, 4, 1};
  static const int longest[] = {0, 0, 0, 2, 2, 2, 2, 2, 2};
  for (int order = AMPED_MIN_ORDER; order <= AMPED_MAX_ORDER; order++)
    for (unsigned pattern = 0; pattern < 1U << order; pattern++) {
      bool odd = false;
      amped_ktensor k;
      amped_signs signs;
      make_model(&k, order, dims, pattern);
      amped_signs_find(&k, &signs);
      for (int m = 0; m < order; m++)
        odd = odd != (pattern >> m & 1);
      ck_assert_int_eq(count_negated(&k, &signs, 0) % 2, 0);
      for (int m = 0; m < order; m++)
        ck_assert_msg(is_negative(&k, &signs, m, 0) == (odd && m == longest[order]),
                      "order %d, pattern %x: mode %d", order, pattern, m);
      amped_ktensor_free(&k);
    }
  check_no_leak();
}

START_TEST(the_first_of_equal_entries_and_of_equal_modes_counts) {
  static const uint64_t dims[] = {2, 2, 2};
  static const double columns[3][2] = {{-1.0, 1.0}, {1.0, -1.0}, {1.0, 0.5}};
  amped_ktensor k;
  amped_signs signs;
  check_ok(amped_ktensor_create(&k, 3, dims, 1));
  for (int m = 0; m < 3; m++)
    memcpy(k.factors[m], columns[m], sizeof columns[m]);
  amped_signs_find(&k, &signs); /* mode 0 alone is negative, and all are as long */
  for (int m = 0; m < 3; m++)
    ck_assert(!signs.negated[m][0]);
  k.factors[0][0] = 1.0;
  k.factors[2][0] = -1.0;
  amped_signs_find(&k, &signs); /* mode 2 alone: mode 0 takes the sign */
  ck_assert(signs.negated[0][0] && !signs.negated[1][0] && signs.negated[2][0]);
  amped_ktensor_free(&k);
  check_no_leak();
}

START_TEST(components_do_not_meet_and_zeros_have_no_sign) {
  static const uint64_t dims[] = {2, 3, 2};
  /* Component 0: two negative; 1: none; 2: a zero column between two negative ones. */
  static const double a[] = {-1.0, 1.0, 0.5, 0.25, 0.0, -1.0};
  static const double b[] = {-0.5, 0.5, 0.0, -1.0, 1.0, 0.0, 0.75, 0.0, -0.0};
  static const double c[] = {1.0, 1.0, -1.0, 0.0, 0.0, 0.5};
  amped_ktensor k;
  amped_signs signs;
  check_ok(amped_ktensor_create(&k, 3, dims, 3));
  memcpy(k.factors[0], a, sizeof a);
  memcpy(k.factors[1], b, sizeof b);
  memcpy(k.factors[2], c, sizeof c);
  amped_signs_find(&k, &signs);
  ck_assert(signs.negated[0][0] && signs.negated[1][0] && !signs.negated[2][0]);
  ck_assert_int_eq(count_negated(&k, &signs, 1), 0);
  ck_assert(signs.negated[0][2] && !signs.negated[1][2] && signs.negated[2][2]);
  amped_ktensor_free(&k);
  check_no_leak();
}

/* Rows of many threads: equal entries of either sign at both ends; the first counts. A longer mode
 * takes what is odd. */
START_TEST(the_first_of_equal_entries_counts_among_many_rows) {
  static const uint64_t dims[] = {300002, 300001, 2};
  for (int first = -1; first <= 1; first += 2) {
    amped_ktensor k;
    amped_signs signs;
    check_ok(amped_ktensor_create(&k, 3, dims, 2));
    for (uint64_t i = 0; i < dims[1]; i++)
      k.factors[1][2 * i + 1] = amped_random_double(5, 0, i) - 0.5;
    k.factors[1][2 * 4097 + 1] = first;
    k.factors[1][2 * 200000 + 1] = -first;
    k.factors[1][2 * 300000 + 1] = -first;
    k.factors[0][1] = 1.0;
    k.factors[2][1] = -1.0;
    amped_signs_find(&k, &signs);
    ck_assert(signs.negated[0][1] == (first > 0));
    ck_assert(signs.negated[1][1] == (first < 0));
    ck_assert(signs.negated[2][1]);
    amped_ktensor_free(&k);
  }
  check_no_leak();
}

TESTING_MAIN("signs", leading_entries_are_positive_but_one_of_the_longest_mode,
             the_first_of_equal_entries_and_of_equal_modes_counts,
             components_do_not_meet_and_zeros_have_no_sign,
             the_first_of_equal_entries_counts_among_many_rows)
