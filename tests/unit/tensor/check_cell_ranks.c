/* Cell ranks and filters: against counts over values that are computed one by one; ties, blocks,
 * any number of threads, values of any size. */
#include <math.h>
#include <omp.h>
#include <string.h>

#include "base/mem.h"
#include "base/random.h"
#include "tensor/cell_ranks.h"
#include "tests/lib/testing.h"
#include "tests/lib/testing_models.h"

enum { ORDER = 3, NCOMPS = 3, CELLS = 150, KNOWN = 60000 };
static const uint64_t dims[ORDER] = {5, 1500, 4}; /* more candidates than a block has */

static uint64_t cells[ORDER][CELLS];
static double ranks[CELLS];

static void make_model(amped_ktensor *k, amped_completion *c, bool biased) {
  testing_model(k, c, ORDER, dims, NCOMPS, biased);
}

/* Cells whose index of mode `of` is known; one in nine of the others is cold. */
static void make_cells(const amped_predictor *p, int of) {
  for (int m = 0; m < ORDER; m++)
    for (uint64_t i = 0; i < CELLS; i++) {
      uint64_t index = amped_random_u64(4, (uint64_t)m, i) % dims[m];
      while (m == of && !amped_predictor_knows(p, m, index))
        index = (index + 1) % dims[m];
      cells[m][i] = m != of && i % 9 == 0 ? AMPED_PREDICTOR_COLD : index;
    }
}

static double value_at(const amped_predictor *p, int of, uint64_t i, uint64_t j) {
  uint64_t index[ORDER] = {cells[0][i], cells[1][i], cells[2][i]};
  double value = 0.0;
  uint64_t *const indices[AMPED_MAX_ORDER] = {&index[0], &index[1], &index[2]};
  index[of] = j;
  amped_predictor_values(p, indices, 1, &value);
  return value;
}

/* known[key][j]: does the filter remove index j of cells with this key? NULL: no filter. */
static void check_ranks(const amped_predictor *p, int of, const amped_cell_filter *filter,
                        bool (*known)[1500], int key) {
  const amped_cell_ranks request = {.p = p,
                                    .of = of,
                                    .count = CELLS,
                                    .indices = {cells[0], cells[1], cells[2]},
                                    .filter = filter};
  amped_cell_ranks_found found;
  uint64_t removed = 0;
  uint64_t tied = 0;
  uint64_t candidates = 0;
  check_ok(amped_cell_ranks_find(&request, "model", ranks, &found));
  for (uint64_t j = 0; j < dims[of]; j++)
    candidates += amped_predictor_knows(p, of, j);
  for (uint64_t i = 0; i < CELLS; i++) {
    const double own = value_at(p, of, i, cells[of][i]);
    double higher = 0.0;
    double equal = 0.0;
    for (uint64_t j = 0; j < dims[of]; j++) {
      if (j == cells[of][i] || !amped_predictor_knows(p, of, j))
        continue;
      if (known != NULL && cells[key][i] != AMPED_PREDICTOR_COLD && known[cells[key][i]][j]) {
        removed++;
        continue;
      }
      const double value = value_at(p, of, i, j);
      const bool same = fabs(value - own) <= 1e-12 * fmax(1.0, fabs(own));
      higher += !same && value > own;
      equal += same;
    }
    ck_assert_double_eq(ranks[i], 1.0 + higher + equal / 2.0);
    tied += equal > 0.0;
  }
  ck_assert_uint_eq(found.candidates, candidates);
  ck_assert_uint_eq(found.removed, removed);
  ck_assert_uint_eq(found.tied, tied);
}

START_TEST(ranks_count_higher_values_and_half_of_the_ties) {
  for (int what = 0; what < 3; what++) /* biased, not biased, a plain decomposition */
    for (int of = 0; of < ORDER; of++) {
      amped_ktensor k;
      amped_completion c;
      amped_predictor p;
      make_model(&k, &c, what == 0);
      check_ok(amped_predictor_create(&k, what < 2 ? &c : NULL, &p));
      make_cells(&p, of);
      omp_set_num_threads(1 + of);
      check_ranks(&p, of, NULL, NULL, 0);
      amped_predictor_free(&p);
      amped_completion_free(&c);
      amped_ktensor_free(&k);
    }
  check_no_leak();
}

/* Equal and higher are what they are if all values are tiny. */
START_TEST(ranks_do_not_depend_on_the_size_of_values) {
  static double first[CELLS];
  for (int exponent = 0; exponent > -200; exponent -= 199) {
    amped_ktensor k;
    amped_completion c;
    amped_predictor p;
    amped_cell_ranks_found found;
    make_model(&k, &c, false);
    for (int r = 0; r < NCOMPS; r++)
      k.weights[r] = ldexp(k.weights[r], exponent);
    check_ok(amped_predictor_create(&k, NULL, &p));
    make_cells(&p, 1);
    const amped_cell_ranks request = {
        .p = &p, .of = 1, .count = CELLS, .indices = {cells[0], cells[1], cells[2]}};
    check_ok(amped_cell_ranks_find(&request, "model", exponent == 0 ? first : ranks, &found));
    amped_predictor_free(&p);
    amped_completion_free(&c);
    amped_ktensor_free(&k);
  }
  ck_assert_mem_eq(first, ranks, sizeof ranks);
  check_no_leak();
}

START_TEST(a_filter_removes_all_but_the_cells_own) {
  static bool known[5][1500];
  static const bool is_key[ORDER] = {true, false, false};
  amped_ktensor k;
  amped_completion c;
  amped_predictor p;
  amped_cell_filter filter;
  amped_sptensor t;
  make_model(&k, &c, true);
  check_ok(amped_predictor_create(&k, &c, &p));
  make_cells(&p, 1);
  check_ok(amped_sptensor_create(&t, ORDER, KNOWN / 10));
  memset(known, 0, sizeof known);
  for (uint64_t i = 0; i < t.nnz; i++) { /* many of them twice */
    t.indices[0][i] = amped_random_u64(7, 0, i) % 4;
    t.indices[1][i] = i < CELLS ? cells[1][i] : amped_random_u64(7, 1, i) % 1400;
    t.indices[2][i] = i % 4;
    known[t.indices[0][i]][t.indices[1][i]] = true;
  }
  check_ok(amped_cell_filter_create(&t, is_key, 1, &filter));
  ck_assert_uint_lt(filter.count, t.nnz);
  check_ranks(&p, 1, &filter, known, 0);
  amped_cell_filter_free(&filter);
  amped_sptensor_free(&t);
  amped_predictor_free(&p);
  amped_completion_free(&c);
  amped_ktensor_free(&k);
  check_no_leak();
}

/* Counts rank as a model does whose values they are. */
START_TEST(counts_rank_candidates_in_place_of_values) {
  const int of = 1;
  amped_ktensor k;
  amped_completion c;
  amped_predictor p;
  amped_sptensor t = {.order = ORDER, .nnz = KNOWN};
  amped_cell_filter filter;
  const bool is_key[AMPED_MAX_ORDER] = {true};
  static bool known[5][1500];
  uint64_t counts[1500];
  memset(known, 0, sizeof known);
  make_model(&k, &c, true);
  check_ok(amped_predictor_create(&k, &c, &p));
  make_cells(&p, of);
  for (int m = 0; m < 2; m++)
    check_ok(amped_alloc(&t.indices[m], KNOWN, sizeof *t.indices[m], "cells"));
  for (uint64_t i = 0; i < KNOWN; i++) {
    for (int m = 0; m < 2; m++)
      t.indices[m][i] = amped_random_u64(9, (uint64_t)m, i % 900) % dims[m];
    known[t.indices[0][i]][t.indices[1][i]] = true;
  }
  for (uint64_t j = 0; j < dims[of]; j++)
    counts[j] = amped_random_u64(7, 0, j) % 40;
  check_ok(amped_cell_filter_create(&t, is_key, of, &filter));
  for (int filtered = 0; filtered < 2; filtered++) {
    const amped_cell_ranks request = {.p = &p,
                                      .of = of,
                                      .count = CELLS,
                                      .indices = {cells[0], cells[1], cells[2]},
                                      .filter = filtered == 1 ? &filter : NULL};
    check_ok(amped_cell_ranks_by_counts(&request, counts, ranks));
    for (uint64_t i = 0; i < CELLS; i++) {
      const uint64_t own = cells[of][i];
      double rank = 1.0;
      for (uint64_t j = 0; j < dims[of]; j++) {
        const bool removed =
            filtered == 1 && cells[0][i] != AMPED_PREDICTOR_COLD && known[cells[0][i]][j];
        if (j != own && amped_predictor_knows(&p, of, j) && !removed)
          rank += counts[j] > counts[own] ? 1.0 : counts[j] == counts[own] ? 0.5 : 0.0;
      }
      ck_assert_double_eq(ranks[i], rank);
    }
  }
  amped_cell_filter_free(&filter);
  amped_sptensor_free(&t);
  amped_predictor_free(&p);
  amped_completion_free(&c);
  amped_ktensor_free(&k);
  check_no_leak();
}

START_TEST(a_filter_finds_cells_by_several_modes) {
  static const bool is_key[ORDER] = {true, false, true};
  amped_sptensor t;
  amped_cell_filter filter;
  uint64_t place[ORDER][1];
  uint64_t *const indices[AMPED_MAX_ORDER] = {place[0], place[1], place[2]};
  check_ok(amped_sptensor_create(&t, ORDER, 4000));
  bool has[6][6][30] = {{{false}}};
  for (uint64_t i = 0; i < t.nnz; i++) {
    for (int m = 0; m < ORDER; m++)
      t.indices[m][i] = amped_random_u64(3, (uint64_t)m, i) % (m == 1 ? 30 : 5);
    has[t.indices[0][i]][t.indices[2][i]][t.indices[1][i]] = true;
  }
  check_ok(amped_cell_filter_create(&t, is_key, 1, &filter));
  for (uint64_t a = 0; a < 6; a++)
    for (uint64_t b = 0; b < 6; b++) {
      uint64_t first = 0;
      uint64_t wanted = 0;
      place[0][0] = a;
      place[2][0] = b;
      const uint64_t count = amped_cell_filter_find(&filter, indices, 0, &first);
      for (uint64_t j = 0; j < 30; j++)
        if (has[a][b][j])
          ck_assert_uint_eq(filter.of[first + wanted++], j);
      ck_assert_uint_eq(count, wanted);
    }
  amped_cell_filter_free(&filter);
  amped_sptensor_free(&t);
  check_ok(amped_sptensor_create(&t, ORDER, 1));
  t.nnz = 0;
  check_ok(amped_cell_filter_create(&t, is_key, 1, &filter));
  uint64_t first = 0;
  ck_assert_uint_eq(amped_cell_filter_find(&filter, indices, 0, &first), 0);
  amped_cell_filter_free(&filter);
  amped_sptensor_free(&t);
  check_no_leak();
}

START_TEST(measures_are_those_of_textbooks) {
  static const double some[] = {1.0, 2.0, 1.5, 10.0, 11.0};
  ck_assert_double_eq_tol(amped_ranks_hit_rate(some, 5, 1), 0.2, 1e-15);
  ck_assert_double_eq_tol(amped_ranks_hit_rate(some, 5, 10), 0.8, 1e-15);
  ck_assert_double_eq_tol(amped_ranks_ndcg(some, 5, 2),
                          (1.0 + 1.0 / log2(3.0) + 1.0 / log2(2.5)) / 5.0, 1e-15);
  ck_assert_double_eq_tol(amped_ranks_reciprocal(some, 5),
                          (1.0 + 0.5 + 1.0 / 1.5 + 0.1 + 1.0 / 11.0) / 5.0, 1e-15);
  ck_assert_double_eq_tol(amped_ranks_mean(some, 5), 5.1, 1e-14);
}

START_TEST(values_that_overflow_are_refused) {
  amped_ktensor k;
  amped_completion c;
  amped_predictor p;
  amped_cell_ranks_found found;
  make_model(&k, &c, false);
  k.weights[0] = 1e300;
  check_ok(amped_predictor_create(&k, NULL, &p));
  make_cells(&p, 1);
  const amped_cell_ranks request = {
      .p = &p, .of = 1, .count = CELLS, .indices = {cells[0], cells[1], cells[2]}};
  check_fails(AMPED_FAILED, "too large to compare",
              amped_cell_ranks_find(&request, "model", ranks, &found));
  amped_predictor_free(&p);
  amped_completion_free(&c);
  amped_ktensor_free(&k);
  check_no_leak();
}

TESTING_MAIN("cell ranks", ranks_count_higher_values_and_half_of_the_ties,
             ranks_do_not_depend_on_the_size_of_values, a_filter_removes_all_but_the_cells_own,
             counts_rank_candidates_in_place_of_values, a_filter_finds_cells_by_several_modes,
             measures_are_those_of_textbooks, values_that_overflow_are_refused)
