/* Placements: their properties for random, skewed and degenerate tables of counts, and for tables
 * of the papers' shapes. */
#include <math.h>

#include "plan/placement.h"
#include "tensor/partition.h"
#include "base/random.h"
#include "generate/paper_shapes.h"
#include "backend/synthetic.h"
#include "tests/lib/testing.h"

#define MOST_RANKS 64

typedef struct loads {
  uint64_t nnz[MOST_RANKS];
  uint64_t idps[MOST_RANKS];
  uint64_t total, heaviest, splits, unsplit_spread;
} loads;

/* Check the properties of every placement; return the loads of the ranks. */
static loads loads_of(const amped_balance *b, const uint64_t *counts, uint64_t n, int nranks) {
  uint64_t split_nnz = 0;
  uint64_t s = 0;
  loads l;
  memset(&l, 0, sizeof l);
  for (uint64_t i = 0; i < n; i++) {
    bool split = s < b->split_count && b->splits[s] == i;
    if (b->owner[i] < 0 || b->owner[i] >= nranks)
      ck_abort_msg("iDp %" PRIu64 " has owner %d", i, b->owner[i]);
    if (split)
      split_nnz += counts[i];
    else
      l.nnz[b->owner[i]] += counts[i];
    s += split;
    l.idps[b->owner[i]]++;
    l.total += counts[i];
    l.heaviest = counts[i] > l.heaviest ? counts[i] : l.heaviest;
  }
  ck_assert_uint_eq(s, b->split_count); /* ascending, none twice */
  ck_assert_uint_eq(b->cuts[0], 0);
  ck_assert_uint_eq(b->cuts[nranks], split_nnz);
  for (int p = 0; p < nranks; p++) {
    ck_assert_uint_le(b->cuts[p], b->cuts[p + 1]);
    l.nnz[p] += b->cuts[p + 1] - b->cuts[p];
  }
  l.splits = b->split_count;
  l.unsplit_spread = b->unsplit_spread;
  return l;
}

static loads place_by(amped_placement placement, const uint64_t *counts, uint64_t n, int nranks,
                      int *owner) {
  amped_balance b;
  check_ok(
      amped_balance_create(&b, placement, counts, n, nranks, amped_balance_limit(n, nranks), NULL));
  loads l = loads_of(&b, counts, n, nranks);
  memcpy(owner, b.owner, n * sizeof *owner);
  amped_balance_free(&b);
  return l;
}

static loads place(const uint64_t *counts, uint64_t n, int nranks, int *owner) {
  return place_by(AMPED_PLACEMENT_GREEDY, counts, n, nranks, owner);
}

static uint64_t most_of(const loads *l, int nranks) {
  uint64_t most = 0;
  for (int p = 0; p < nranks; p++)
    most = l->nnz[p] > most ? l->nnz[p] : most;
  return most;
}

static uint64_t spread_of(const loads *l, int nranks) {
  uint64_t least = UINT64_MAX;
  for (int p = 0; p < nranks; p++)
    least = l->nnz[p] < least ? l->nnz[p] : least;
  return most_of(l, nranks) - least;
}

/* Make a table of one of several kinds. */
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
    default: /* one iDp has nearly all nonzeros */
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
      uint64_t most = most_of(&l, nranks);
      for (int p = 0; p < nranks; p++)
        limited = limited || l.idps[p] >= amped_balance_limit(n, nranks);
      if (limited)
        continue;
      tested++;
      /* The last iDp of the fullest rank went there when the rank had at most the mean of the
       * others. */
      ck_assert((double)most <=
                (double)l.total / nranks + (double)l.heaviest * (1.0 - 1.0 / nranks));
    }
  }
  ck_assert_int_gt(tested, 100);
}

/* The smallest possible maximum, found by trying every placement. */
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

START_TEST(greedy_splits_only_where_that_evens_out) {
  static uint64_t counts[700];
  static int owner[700];
  int split = 0;
  for (uint64_t trial = 0; trial < 400; trial++) {
    uint64_t n = make_counts(trial, counts);
    for (int nranks = 1; nranks <= 7; nranks++) {
      loads l = place(counts, n, nranks, owner);
      uint64_t even = l.total / (uint64_t)nranks / AMPED_SPLIT_SHARE;
      even = even > AMPED_SPLIT_LEAST ? even : AMPED_SPLIT_LEAST;
      ck_assert_uint_le(spread_of(&l, nranks), even);
      ck_assert(l.unsplit_spread > even ? l.splits > 0 : l.splits == 0);
      ck_assert(nranks > 1 || l.splits == 0);
      split += l.splits > 0;
    }
  }
  ck_assert_int_gt(split, 100);
}

/* --- equal and block ---------------------------------------------------------------------------*/

/* Owners ascend. */
static void is_contiguous(const int *owner, uint64_t n) {
  for (uint64_t i = 1; i < n; i++)
    if (owner[i] < owner[i - 1])
      ck_abort_msg("owner %d behind %d", owner[i], owner[i - 1]);
}

START_TEST(given_owners_stay_and_splits_make_ranks_even) {
  enum { N = 500 };
  uint64_t counts[N];
  int owners[N];
  for (int nranks = 1; nranks <= 7; nranks++)
    for (int crowded = 0; crowded < 2; crowded++) {
      amped_balance b;
      for (int i = 0; i < N; i++) {
        counts[i] = 1000 + (uint64_t)(i * 37 % 1000);
        owners[i] = crowded > 0 ? 0 : i % nranks;
      }
      check_ok(amped_balance_create(&b, AMPED_PLACEMENT_EQUAL, counts, N, nranks,
                                    amped_balance_limit(N, nranks), owners));
      const loads l = loads_of(&b, counts, N, nranks);
      ck_assert_mem_eq(b.owner, owners, sizeof owners);
      ck_assert_uint_le(spread_of(&l, nranks),
                        l.total / (uint64_t)nranks / AMPED_SPLIT_SHARE + AMPED_SPLIT_LEAST);
      amped_balance_free(&b);
    }
}

START_TEST(equal_is_equal_and_contiguous) {
  static uint64_t counts[700];
  static int owner[700];
  for (uint64_t trial = 0; trial < 400; trial++) {
    uint64_t n = make_counts(trial, counts);
    for (int nranks = 1; nranks <= 9; nranks++) {
      loads l = place_by(AMPED_PLACEMENT_EQUAL, counts, n, nranks, owner);
      ck_assert_uint_le(spread_of(&l, nranks), 1);
      ck_assert_uint_lt(l.splits, (uint64_t)nranks);
      is_contiguous(owner, n);
    }
  }
}

/* The smallest possible maximum of contiguous blocks: best[p][i] for i iDps on p ranks. */
static uint64_t best_blocks(const uint64_t *counts, uint64_t n, int nranks) {
  static uint64_t best[10][41];
  for (uint64_t i = 0; i <= n; i++)
    best[0][i] = i == 0 ? 0 : UINT64_MAX;
  for (int p = 1; p <= nranks; p++)
    for (uint64_t i = 0; i <= n; i++) {
      uint64_t sum = 0;
      best[p][i] = best[p - 1][i];
      for (uint64_t k = i; k > 0; k--) {
        sum += counts[k - 1];
        uint64_t most = best[p - 1][k - 1] > sum ? best[p - 1][k - 1] : sum;
        best[p][i] = most < best[p][i] ? most : best[p][i];
      }
    }
  return best[nranks][n];
}

START_TEST(block_is_contiguous_with_the_least_maximum) {
  static uint64_t counts[700];
  static int owner[700];
  for (uint64_t trial = 0; trial < 400; trial++) {
    uint64_t n = make_counts(trial, counts);
    n = n < 40 ? n : 40;
    for (int nranks = 1; nranks <= 9; nranks++) {
      loads l = place_by(AMPED_PLACEMENT_BLOCK, counts, n, nranks, owner);
      ck_assert_uint_eq(l.splits, 0);
      is_contiguous(owner, n);
      ck_assert_uint_eq(most_of(&l, nranks), best_blocks(counts, n, nranks));
    }
  }
}

/* Within the maximum, the first ranks do not get more than the others. */
START_TEST(block_leaves_no_rank_out) {
  uint64_t counts[] = {10, 10, 10, 10, 30, 10, 10};
  int owner[7];
  loads l = place_by(AMPED_PLACEMENT_BLOCK, counts, 7, 4, owner);
  for (int p = 0; p < 4; p++)
    ck_assert_uint_ge(l.nnz[p], 20);
}

/* --- tables of real size -----------------------------------------------------------------------*/

/* The overhead of computing is below 1 %, and rows are nearly even. Prints the gain of splitting,
 * and returns the difference of the ranks' nonzeros without it. */
static double stays_even(const char *what, const uint64_t *counts, uint64_t n, int nranks) {
  amped_balance b;
  check_ok(amped_balance_create(&b, AMPED_PLACEMENT_GREEDY, counts, n, nranks,
                                amped_balance_limit(n, nranks), NULL));
  loads l = loads_of(&b, counts, n, nranks);
  double mean = (double)l.total / nranks;
  double percent = 100.0 * (double)spread_of(&l, nranks) / mean;
  double unsplit = 100.0 * (double)l.unsplit_spread / mean;
  if (nranks == 4)
    printf("%s, %" PRIu64 " iDps: %.3f %% apart, unsplit %.3f %%, %" PRIu64 " split\n", what, n,
           percent, unsplit, l.splits);
  if (!(percent < 1.0))
    ck_abort_msg("%s on %d ranks: %.3f %% apart", what, nranks, percent);
  for (int p = 0; p < nranks; p++)
    if (l.idps[p] > amped_balance_limit(n, nranks))
      ck_abort_msg("%s on %d ranks: %" PRIu64 " iDps on one", what, nranks, l.idps[p]);
  amped_balance_free(&b);
  return unsplit;
}

/* A number near `mean`, above or below with equal probability, with the spread of Poisson's law. */
static uint64_t drawn(double mean, uint64_t key, uint64_t i) {
  double u = amped_random_double(key, 1, i) + amped_random_double(key, 2, i) +
             amped_random_double(key, 3, i) - 1.5; /* variance 1/4 */
  double x = mean + 2.0 * u * sqrt(mean);
  return x > 0.0 ? (uint64_t)(x + 0.5) : 0;
}

/* The iDp table of a mode whose indices are scattered and have the frequencies of synthetic.h. */
static uint64_t *table_of(const amped_synthetic *t, int mode, uint64_t *n) {
  uint64_t dim = t->dims[mode];
  uint64_t width = amped_partition_width(dim);
  uint64_t *counts = NULL;
  double *mean = NULL;
  double below = 0.0;
  *n = amped_ceil_div(dim, width);
  check_ok(amped_calloc(&mean, *n, sizeof *mean, "a test"));
  check_ok(amped_calloc(&counts, *n, sizeof *counts, "a test"));
  for (uint64_t i = 0; i < dim; i++) {
    double end = cbrt((double)(i + 1) / (double)dim); /* power 3 */
    mean[i * t->strides[mode] % dim / width] += end - below;
    below = end;
  }
  for (uint64_t i = 0; i < *n; i++)
    counts[i] = drawn(mean[i] * (double)t->nnz, (uint64_t)mode, i);
  amped_free(mean);
  return counts;
}

/* Parts of split iDps: an iDp counts once for each rank that has nonzeros of it. */
static uint64_t parts_of(const uint64_t *counts, uint64_t n, int nranks) {
  amped_balance b;
  uint64_t parts = 0;
  uint64_t at = 0;
  check_ok(amped_balance_create(&b, AMPED_PLACEMENT_GREEDY, counts, n, nranks,
                                amped_balance_limit(n, nranks), NULL));
  for (uint64_t s = 0; s < b.split_count; s++) {
    const uint64_t end = at + counts[b.splits[s]];
    for (int p = 0; p < nranks; p++)
      parts += b.cuts[p] < end && b.cuts[p + 1] > at;
    at = end;
  }
  ck_assert_uint_le(parts, b.split_count + (uint64_t)nranks - 1);
  amped_balance_free(&b);
  return parts;
}

/* Decision 024: on 64 ranks, the sums of split iDps that ranks exchange, in double, have less than
 * 0.3 % of the bytes of the factors' rows in float. */
static void shape_stays_even(const char *name) {
  uint64_t rows = 0;
  uint64_t shared = 0;
  amped_shape shape;
  amped_synthetic t;
  check_ok(amped_shape_get(name, 1.0, 0, &shape));
  check_ok(
      amped_synthetic_make(&t, shape.order, shape.dims, shape.nnz, AMPED_SYNTHETIC_SKEWED, 0, 1));
  for (int m = 0; m < t.order; m++) {
    uint64_t n = 0;
    uint64_t *counts = table_of(&t, m, &n);
    for (int nranks = 2; nranks <= 8; nranks += nranks < 4 ? 1 : 4)
      (void)stays_even(name, counts, n, nranks);
    rows += t.dims[m];
    shared += parts_of(counts, n, MOST_RANKS) * amped_partition_width(t.dims[m]);
    amped_free(counts);
  }
  ck_assert_uint_lt(1000 * 2 * shared, 3 * rows);
}

START_TEST(counts_above_32_bits_stay_even) {
  uint64_t counts[1000];
  int owner[1000];
  const uint64_t n = sizeof counts / sizeof counts[0];
  for (int bits = 33; bits <= 53; bits += 10) { /* sums of up to 2^63 */
    for (uint64_t i = 0; i < n; i++)
      counts[i] = amped_random_u64(9, (uint64_t)bits, i) >> (64 - bits);
    counts[7] = UINT64_C(1) << (bits + 7); /* as large as some hundred other iDps */
    for (int nranks = 1; nranks <= 64; nranks = nranks * 3 + 1) {
      (void)stays_even("counts above 2^32", counts, n, nranks);
      for (amped_placement p = AMPED_PLACEMENT_EQUAL; p <= AMPED_PLACEMENT_BLOCK; p++) {
        loads l = place_by(p, counts, n, nranks, owner);
        uint64_t sum = 0;
        for (int r = 0; r < nranks; r++)
          sum += l.nnz[r];
        ck_assert_uint_eq(sum, l.total);
        if (p == AMPED_PLACEMENT_EQUAL)
          ck_assert_uint_le(spread_of(&l, nranks), 1);
        else
          ck_assert_uint_le(most_of(&l, nranks), l.total / (uint64_t)nranks + l.heaviest);
      }
    }
  }
}

START_TEST(the_papers_shapes_stay_even) {
  static const char *const names[] = {"amazon", "patents", "reddit", "twitch"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
    shape_stays_even(names[i]);
  check_no_leak();
}

START_TEST(one_index_with_thirty_per_cent) {
  static uint64_t counts[10000];
  static int owner[10000];
  for (uint64_t i = 0; i < 10000; i++)
    counts[i] = drawn(70000.0, 4, i);
  counts[5000] = 300000000;
  ck_assert(stays_even("30 %", counts, 10000, 4) > 6.0);
  ck_assert(stays_even("30 %", counts, 10000, 8) > 100.0);
  loads l = place(counts, 10000, 4, owner);
  ck_assert_uint_eq(l.splits, 1);
  l = place(counts, 10000, 3, owner);
  ck_assert_uint_eq(l.splits,
                    1); /* it is less than a rank's part, but its rank would have the fewest rows */
}

START_TEST(fewer_indices_than_are_even) {
  static const struct {
    uint64_t indices, splits;
  } cases[] = {{46, 2}, {3, 3}, {4, 0}, {5, 1}, {1, 1}};
  uint64_t counts[46];
  int owner[46];
  for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
    for (uint64_t i = 0; i < cases[c].indices; i++)
      counts[i] = 10000000;
    (void)stays_even("few indices", counts, cases[c].indices, 4);
    loads l = place(counts, cases[c].indices, 4, owner);
    ck_assert_uint_eq(l.splits, cases[c].splits);
  }
}

/* Popular indices are neighbours, as in files that number indices by popularity. An iDp of many
 * indices may then be heavy although no single index is. */
START_TEST(zipf_stays_even_scattered_and_not) {
  static const double exponents[] = {0.5, 1.0, 1.5, 3.0};
  static uint64_t counts[50000];
  for (size_t e = 0; e < sizeof exponents / sizeof exponents[0]; e++)
    for (uint64_t width = 1; width <= 20; width += 19)
      for (int scattered = 0; scattered < 2; scattered++) {
        uint64_t dim = 50000 * width;
        double sum = 0.0;
        char what[64];
        (void)snprintf(what, sizeof what, "Zipf %.1f, width %" PRIu64 "%s", exponents[e], width,
                       scattered ? ", scattered" : "");
        memset(counts, 0, sizeof counts);
        for (uint64_t i = 0; i < dim; i++)
          sum += pow((double)(i + 1), -exponents[e]);
        for (uint64_t i = 0; i < dim; i++) {
          uint64_t at = scattered ? i * 48611 % dim : i;
          counts[at / width] += drawn(1e9 / sum * pow((double)(i + 1), -exponents[e]), e, i);
        }
        for (int nranks = 2; nranks <= 64; nranks *= 2)
          (void)stays_even(what, counts, 50000, nranks);
      }
}

/* 98 % of the iDps are empty and the others are uneven: rows and nonzeros are even nevertheless. */
START_TEST(mostly_empty_modes_stay_even) {
  static uint64_t counts[65536];
  for (uint64_t i = 0; i < 65536; i++) {
    double u = amped_random_double(5, 0, i);
    counts[i] = i % 50 == 7 ? (uint64_t)(1e4 / (1e-4 + u)) : 0;
  }
  for (int nranks = 2; nranks <= 16; nranks++)
    (void)stays_even("mostly empty", counts, 65536, nranks);
}

START_TEST(failing_memory_is_reported_and_nothing_leaks) {
  uint64_t counts[] = {100000, 2, 3};
  static const int allocations[] = {7, 3, 3}; /* of greedy, equal, block */
  for (int placement = 0; placement < 3; placement++)
    for (int64_t k = 0; k < allocations[placement]; k++) {
      amped_balance b;
      amped_mem_fail_at(k);
      check_fails(AMPED_FAILED, "out of memory",
                  amped_balance_create(&b, (amped_placement)placement, counts, 3, 2, 2, NULL));
      check_no_leak();
    }
  amped_mem_fail_at(-1);
}

TESTING_MAIN("balance", every_idp_has_one_owner_and_rows_stay_near_even,
             greedy_meets_grahams_bound_where_no_row_limit_is_hit,
             greedy_is_within_four_thirds_of_the_true_optimum,
             more_ranks_than_idps_leaves_some_ranks_empty, placement_is_a_pure_function,
             greedy_splits_only_where_that_evens_out, given_owners_stay_and_splits_make_ranks_even,
             equal_is_equal_and_contiguous, block_is_contiguous_with_the_least_maximum,
             block_leaves_no_rank_out, counts_above_32_bits_stay_even, the_papers_shapes_stay_even,
             one_index_with_thirty_per_cent, fewer_indices_than_are_even,
             zipf_stays_even_scattered_and_not, mostly_empty_modes_stay_even,
             failing_memory_is_reported_and_nothing_leaks)
