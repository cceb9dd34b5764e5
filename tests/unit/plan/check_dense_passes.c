/* Dense passes: the pattern is that of what a rank keeps (dense_kept.h), update by update. */
#include <string.h>

#include "plan/dense_kept.h"
#include "plan/dense_passes.h"
#include "tests/lib/testing.h"

static void follow(const amped_dense_plan *plan, int order, uint64_t sweeps) {
  uint64_t versions[AMPED_MAX_ORDER] = {0};
  uint64_t clock = 0;
  uint64_t passes = 0;
  amped_dense_kept kept;
  memset(&kept, 0, sizeof kept);
  for (int m = 0; m < order; m++)
    versions[m] = ++clock;
  for (uint64_t u = 0; u < sweeps * (uint64_t)order; u++) {
    const int mode = (int)(u % (uint64_t)order);
    const bool contracts = !amped_dense_serves(&kept, plan, order, mode, versions);
    ck_assert_int_eq(amped_dense_contracts(plan, order, u), contracts);
    passes += contracts;
    versions[mode] = ++clock;
    ck_assert_uint_eq(amped_dense_count_passes(plan, order, 0, u + 1), passes);
  }
  ck_assert_uint_eq(sweeps % (uint64_t)amped_dense_period(plan, order), 0);
  ck_assert_double_eq_tol((double)passes, (double)sweeps * amped_dense_passes(plan, order), 1e-9);
}

/* A run that goes on after some sweeps makes its last contraction again. */
static void go_on(const amped_dense_plan *plan, int order, uint64_t earlier, uint64_t sweeps) {
  uint64_t versions[AMPED_MAX_ORDER] = {0};
  uint64_t clock = 0;
  uint64_t passes = 0;
  amped_dense_kept kept;
  amped_dense_go_on(&kept, plan, order, 0, earlier);
  for (int m = 0; m < order; m++)
    versions[m] = ++clock;
  for (uint64_t u = 0; u < sweeps * (uint64_t)order; u++) {
    const int mode = (int)(u % (uint64_t)order);
    passes += !amped_dense_serves(&kept, plan, order, mode, versions);
    versions[mode] = ++clock;
  }
  ck_assert_uint_eq(amped_dense_count_passes(plan, order, earlier * (uint64_t)order,
                                             (earlier + sweeps) * (uint64_t)order),
                    passes);
}

/* The modes that a rank contracts are the same after a resume, whatever modes are fixed. Factors
 * are then set in the order 0, 1, ... */
static void fix(const amped_dense_plan *plan, int order, uint64_t fixed, uint64_t earlier) {
  uint64_t versions[2][AMPED_MAX_ORDER] = {{0}};
  uint64_t clock[2] = {0, 0};
  uint64_t passes = 0;
  amped_dense_kept whole = {.from = 0};
  amped_dense_kept resumed;
  for (uint64_t s = 0; s < earlier; s++)
    passes += amped_dense_follow(&whole, plan, order, fixed, versions[0], &clock[0]);
  ck_assert_uint_eq(amped_dense_free_passes(plan, order, fixed, 0, earlier), passes);
  amped_dense_go_on(&resumed, plan, order, fixed, earlier);
  for (int m = 0; m < order; m++)
    versions[1][m] = ++clock[1];
  for (int u = 0; u < 5 * order; u++) {
    const int mode = u % order;
    if (fixed >> mode & 1)
      continue;
    (void)amped_dense_serves(&whole, plan, order, mode, versions[0]);
    (void)amped_dense_serves(&resumed, plan, order, mode, versions[1]);
    ck_assert_int_eq(resumed.from, whole.from);
    ck_assert_int_eq(resumed.end, whole.end);
    versions[0][mode] = ++clock[0];
    versions[1][mode] = ++clock[1];
  }
}

START_TEST(the_pattern_is_that_of_kept_contractions) {
  for (int order = AMPED_MIN_ORDER; order <= AMPED_MAX_ORDER; order++)
    for (int tree = AMPED_TREE_ONE; tree <= AMPED_TREE_SPLIT; tree++)
      for (int reversed = 0; reversed < 2; reversed++) {
        amped_dense_plan plan;
        memset(&plan, 0, sizeof plan);
        plan.tree = (amped_dense_tree)tree;
        for (int k = 0; k < order; k++)
          plan.layout[k] = reversed ? order - 1 - k : k;
        follow(&plan, order, 4 * (uint64_t)(order - 1));
        for (uint64_t earlier = 1; earlier < 12; earlier++)
          go_on(&plan, order, earlier, 7);
        for (uint64_t fixed = 0; fixed + 1 < UINT64_C(1) << order; fixed++)
          for (uint64_t earlier = 1; earlier < 12; earlier++)
            fix(&plan, order, fixed, earlier);
      }
}
END_TEST

/* After a resume nothing stands: the first update contracts, wherever the pattern is. */
START_TEST(the_first_update_of_a_run_contracts) {
  amped_dense_plan plan;
  memset(&plan, 0, sizeof plan);
  for (int k = 0; k < 3; k++)
    plan.layout[k] = k;
  ck_assert_uint_eq(amped_dense_count_passes(&plan, 3, 0, 3), 2);
  ck_assert_uint_eq(amped_dense_count_passes(&plan, 3, 3, 6), 2);
  ck_assert_uint_eq(amped_dense_count_passes(&plan, 3, 6, 6), 0);
}
END_TEST

TESTING_MAIN("dense_passes", the_pattern_is_that_of_kept_contractions,
             the_first_update_of_a_run_contracts)
