/* Greedy placement: properties over random, skewed and degenerate count tables. */
#include <math.h>

#include "balance.h"
#include "random.h"
#include "testing.h"

typedef struct loads {
  uint64_t nnz[64];
  uint64_t idps[64];
  uint64_t total, heaviest;
} loads;

static loads place(const uint64_t *counts, uint64_t n, int nranks, int *owner) {
  loads l;
  memset(&l, 0, sizeof l);
  check_ok(amped_balance(counts, n, nranks, amped_balance_limit(n, nranks), owner));
  for (uint64_t i = 0; i < n; i++) {
    if (owner[i] < 0 || owner[i] >= nranks)
      ck_abort_msg("iDp %" PRIu64 " has owner %d", i, owner[i]);
    l.nnz[owner[i]] += counts[i];
    l.idps[owner[i]]++;
    l.total += counts[i];
    if (counts[i] > l.heaviest)
      l.heaviest = counts[i];
  }
  return l;
}

/* A table of one of several kinds. */
static uint64_t make_counts(uint64_t trial, uint64_t *counts) {
  uint64_t n = 1 + amped_random_u64(1, trial, 0) % 700;
  for (uint64_t i = 0; i < n; i++) {
    double u = amped_random_double(2, trial, i);
    switch (trial % 4) {
    case 0: /* even */
      counts[i] = 100 + (uint64_t)(10.0 * u);
      break;
    case 1: /* Zipf-like */
      counts[i] = (uint64_t)(1000.0 / (1e-3 + u));
      break;
    case 2: /* nearly all empty */
      counts[i] = u < 0.02 ? 1 + (uint64_t)(u * 1e6) : 0;
      break;
    default: /* one holds nearly everything */
      counts[i] = i == n / 2 ? 1000000 : (uint64_t)(3.0 * u);
      break;
    }
  }
  return n;
}

START_TEST(every_idp_has_one_owner_and_rows_stay_near_even) {
  static uint64_t counts[700];
  static int owner[700];
  for (uint64_t trial = 0; trial < 400; trial++) {
    uint64_t n = make_counts(trial, counts);
    for (int nranks = 1; nranks <= 7; nranks++) {
      loads l = place(counts, n, nranks, owner);
      for (int p = 0; p < nranks; p++)
        ck_assert_uint_le(l.idps[p], amped_balance_limit(n, nranks));
      ck_assert(amped_balance_limit(n, nranks) <=
                (uint64_t)fmax(ceil((double)n / nranks), 1.25 * (double)n / nranks));
    }
  }
}

START_TEST(greedy_meets_grahams_bound_where_no_row_limit_is_hit) {
  static uint64_t counts[700];
  static int owner[700];
  int tested = 0;
  for (uint64_t trial = 0; trial < 400; trial++) {
    uint64_t n = make_counts(trial, counts);
    for (int nranks = 2; nranks <= 7; nranks++) {
      loads l = place(counts, n, nranks, owner);
      bool limited = false;
      uint64_t most = 0;
      for (int p = 0; p < nranks; p++) {
        limited = limited || l.idps[p] >= amped_balance_limit(n, nranks);
        most = l.nnz[p] > most ? l.nnz[p] : most;
      }
      if (limited)
        continue;
      tested++;
      /* The last iDp of the fullest rank went there when that was at most the mean of the rest. */
      ck_assert((double)most <=
                (double)l.total / nranks + (double)l.heaviest * (1.0 - 1.0 / nranks));
    }
  }
  ck_assert_int_gt(tested, 100);
}

/* The smallest possible maximum, by trying every placement. */
static uint64_t best_maximum(const uint64_t *counts, uint64_t n, int nranks) {
  uint64_t placements = 1;
  uint64_t best = UINT64_MAX;
  for (uint64_t i = 0; i < n; i++)
    placements *= (uint64_t)nranks;
  for (uint64_t code = 0; code < placements; code++) {
    uint64_t load[4] = {0, 0, 0, 0};
    uint64_t most = 0;
    uint64_t c = code;
    for (uint64_t i = 0; i < n; i++, c /= (uint64_t)nranks)
      load[c % (uint64_t)nranks] += counts[i];
    for (int p = 0; p < nranks; p++)
      most = load[p] > most ? load[p] : most;
    best = most < best ? most : best;
  }
  return best;
}

START_TEST(greedy_is_within_four_thirds_of_the_true_optimum) {
  int owner[9];
  uint64_t counts[9];
  for (uint64_t trial = 0; trial < 200; trial++) {
    for (uint64_t i = 0; i < 9; i++)
      counts[i] = 1 + amped_random_u64(3, trial, i) % 60;
    loads l = place(counts, 9, 2, owner);
    if (l.idps[0] == amped_balance_limit(9, 2) || l.idps[1] == amped_balance_limit(9, 2))
      continue; /* the row limit may have forbidden the optimum */
    uint64_t most = l.nnz[0] > l.nnz[1] ? l.nnz[0] : l.nnz[1];
    uint64_t best = best_maximum(counts, 9, 2);
    ck_assert_uint_le(6 * most, 7 * best); /* 4/3 - 1/(3 * 2) */
  }
}

START_TEST(more_ranks_than_idps_leaves_some_ranks_empty) {
  uint64_t counts[] = {5, 0, 9};
  int owner[3];
  loads l = place(counts, 3, 7, owner);
  ck_assert_int_eq(owner[2], 0); /* the largest first, to the lowest rank */
  ck_assert_int_eq(owner[0], 1);
  for (int p = 0; p < 7; p++)
    ck_assert_uint_le(l.idps[p], 1);
}

START_TEST(placement_is_a_pure_function) {
  static uint64_t counts[700];
  static int first[700];
  static int second[700];
  uint64_t n = make_counts(5, counts);
  (void)place(counts, n, 5, first);
  (void)place(counts, n, 5, second);
  ck_assert_mem_eq(first, second, n * sizeof *first);
}

START_TEST(failing_memory_is_reported_and_nothing_leaks) {
  uint64_t counts[] = {1, 2, 3};
  int owner[3];
  for (int64_t k = 0; k < 2; k++) {
    amped_mem_fail_at(k);
    check_fails(AMPED_FAILED, "out of memory", amped_balance(counts, 3, 2, 2, owner));
    check_no_leak();
  }
  amped_mem_fail_at(-1);
}

TESTING_MAIN("balance", every_idp_has_one_owner_and_rows_stay_near_even,
             greedy_meets_grahams_bound_where_no_row_limit_is_hit,
             greedy_is_within_four_thirds_of_the_true_optimum,
             more_ranks_than_idps_leaves_some_ranks_empty, placement_is_a_pure_function,
             failing_memory_is_reported_and_nothing_leaks)
