/* Dense passes: the pattern is that of a rank which keeps its last contraction with the versions of
 * the factors in it, as the tensor parts do. */
#include <string.h>

#include "plan/dense_passes.h"
#include "tests/lib/testing.h"

/* What a tensor part knows of T. */
typedef struct kept {
  int from, end; /* places of the modes that were contracted */
  uint64_t versions[AMPED_MAX_ORDER];
} kept;

static bool serves(const kept *t, int place, const uint64_t *versions) {
  bool same = t->end > t->from && (place < t->from || place >= t->end);
  for (int k = t->from; k < t->end && same; k++)
    same = t->versions[k] == versions[k];
  return same;
}

static void contract(kept *t, const amped_dense_plan *plan, int order, int place,
                     const uint64_t *versions) {
  uint64_t newest = 0;
  if (plan->tree == AMPED_TREE_SPLIT) {
    t->from = place < order / 2 ? order / 2 : 0;
    t->end = place < order / 2 ? order : order / 2;
  }
  for (int k = 0; k < order && plan->tree == AMPED_TREE_ONE; k++)
    if (k != place && versions[k] > newest) {
      newest = versions[k];
      t->from = k;
      t->end = k + 1;
    }
  memcpy(t->versions, versions, sizeof t->versions);
}

static void follow(const amped_dense_plan *plan, int order, uint64_t sweeps) {
  uint64_t versions[AMPED_MAX_ORDER] = {0};
  uint64_t clock = 0;
  uint64_t passes = 0;
  kept t = {.from = 0, .end = 0};
  int places[AMPED_MAX_ORDER] = {0};
  for (int k = 0; k < order; k++)
    places[plan->layout[k]] = k;
  for (int m = 0; m < order; m++)
    versions[places[m]] = ++clock;
  for (uint64_t u = 0; u < sweeps * (uint64_t)order; u++) {
    const int place = places[u % (uint64_t)order];
    const bool contracts = !serves(&t, place, versions);
    ck_assert_int_eq(amped_dense_contracts(plan, order, u), contracts);
    if (contracts)
      contract(&t, plan, order, place, versions);
    passes += contracts;
    versions[place] = ++clock;
    ck_assert_uint_eq(amped_dense_count_passes(plan, order, 0, u + 1), passes);
  }
  const uint64_t period = (uint64_t)amped_dense_period(plan, order);
  ck_assert_uint_eq(sweeps % period, 0);
  ck_assert_double_eq_tol((double)passes, (double)sweeps * amped_dense_passes(plan, order), 1e-9);
}

START_TEST(the_pattern_is_that_of_kept_contractions) {
  for (int order = 3; order <= AMPED_MAX_ORDER; order++)
    for (int tree = AMPED_TREE_ONE; tree <= AMPED_TREE_SPLIT; tree++)
      for (int reversed = 0; reversed < 2; reversed++) {
        amped_dense_plan plan;
        memset(&plan, 0, sizeof plan);
        plan.tree = (amped_dense_tree)tree;
        for (int k = 0; k < order; k++)
          plan.layout[k] = reversed ? order - 1 - k : k;
        follow(&plan, order, 4 * (uint64_t)(order - 1));
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
