/* Groups of models side by side: the cheapest of all cuts, and their limits. */
#include <math.h>

#include "plan/groups.h"
#include "tests/lib/testing.h"

static const amped_width_cost table[] = {{.bytes = 32, .sec = 0.7},
                                         {.bytes = 64, .sec = 0.8},
                                         {.bytes = 128, .sec = 1.0},
                                         {.bytes = 256, .sec = 2.1}};
static const amped_width_costs costs = {.table = table, .count = 4};

/* The obvious cost of floats. */
static double cost_of(int columns) {
  const double bytes = 4.0 * columns;
  for (int i = 0; i < costs.count; i++)
    if (bytes <= (double)table[i].bytes)
      return table[i].sec;
  return 2.1 * bytes / 256.0;
}

/* The least cost of all 2^(count - 1) cuts. */
static double cheapest(const int *ncomps, int count, int most, int columns) {
  double best = INFINITY;
  for (int cuts = 0; cuts < 1 << (count - 1); cuts++) {
    double sum = 0.0;
    bool fits = true;
    for (int first = 0, k = 0; k < count; k++) {
      if (k + 1 < count && (cuts >> k & 1) == 0)
        continue;
      int width = 0;
      for (int i = first; i <= k; i++)
        width += ncomps[i];
      fits = fits && k + 1 - first <= most && (width <= columns || k == first);
      sum += cost_of(width);
      first = k + 1;
    }
    best = fits && sum < best ? sum : best;
  }
  return best;
}

static double cost_of_groups(const amped_groups *g) {
  double sum = 0.0;
  for (int first = 0; first < g->models; first = g->ends[first]) {
    int width = 0;
    for (int k = first; k < g->ends[first]; k++)
      width += g->ncomps[k];
    sum += cost_of(width);
  }
  return sum;
}

START_TEST(the_cheapest_cut_is_found) {
  static const int lists[][3] = {{4, 8, 16}, {5, 5, 6}, {1, 30, 2}, {33, 3, 20}, {100, 2, 7}};
  static const int limits[][2] = {{1024, 1024}, {3, 1024}, {1024, 40}, {1, 1024}, {2, 16}};
  for (size_t l = 0; l < sizeof lists / sizeof lists[0]; l++)
    for (size_t k = 0; k < sizeof limits / sizeof limits[0]; k++) {
      amped_groups g;
      check_ok(amped_groups_create(lists[l], 3, 4, &g));
      ck_assert_int_eq(g.models, 12);
      amped_groups_choose(&g, limits[k][0], limits[k][1], false, AMPED_F32, &costs);
      ck_assert_double_eq_tol(cost_of_groups(&g),
                              cheapest(g.ncomps, 12, limits[k][0], limits[k][1]), 1e-12);
      ck_assert_int_le(g.largest, limits[k][0]);
      amped_groups_free(&g);
    }
  check_no_leak();
}

START_TEST(six_starts_of_five_are_one_group) {
  const int five = 5;
  amped_groups g;
  check_ok(amped_groups_create(&five, 1, 8, &g));
  amped_groups_choose(&g, 1024, 1024, false, AMPED_F32, &costs);
  ck_assert_int_eq(g.count, 2);
  ck_assert_int_eq(g.largest, 6);
  ck_assert_int_eq(g.columns, 30);
  ck_assert_double_eq_tol(g.saved, 8 * 0.7 / (1.0 + 0.8), 1e-12);
  ck_assert_double_eq_tol(g.widest, (1.0 + 0.8) / 1.0, 1e-12);
  amped_groups_free(&g);
}

/* The largest groups are taken although they cost more, and the prediction says so. */
START_TEST(a_number_of_models_is_kept_to) {
  const int r[] = {3, 1000};
  amped_groups g;
  check_ok(amped_groups_create(r, 2, 3, &g));
  ck_assert_int_eq(g.largest, 1);
  amped_groups_choose(&g, 2, 1024, true, AMPED_F64, &costs);
  ck_assert_int_eq(g.ends[0], 2);
  ck_assert_int_eq(g.ends[2], 4);
  ck_assert_int_eq(g.ends[4], 5);
  ck_assert_int_eq(g.ends[5], 6);
  ck_assert_int_eq(g.columns, 1003);
  ck_assert_double_gt(g.widest, 2.0); /* {3, 3}, {3, 1000}, {1000}, {1000} */
  ck_assert_double_lt(g.widest, 4.0);
  amped_groups_free(&g);
}

TESTING_MAIN("groups", the_cheapest_cut_is_found, six_starts_of_five_are_one_group,
             a_number_of_models_is_kept_to)
