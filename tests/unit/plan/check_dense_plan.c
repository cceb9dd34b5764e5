/* Dense plans: slabs of ranks cover the slab mode; the tree with fewer bytes is taken; what is kept
 * of contractions. */
#include "base/mem.h"
#include "plan/dense_kept.h"
#include "plan/plan.h"
#include "tests/lib/testing.h"

static amped_dense_info info_of(int order, const uint64_t *dims, amped_cell_type type) {
  amped_dense_info info;
  memset(&info, 0, sizeof info);
  info.order = order;
  info.type = type;
  info.cells = 1;
  for (int m = 0; m < order; m++) {
    info.dims[m] = dims[m];
    info.layout[m] = m;
    info.cells *= dims[m];
  }
  return info;
}

static void make_plan(const amped_dense_info *dense, int rank, int nranks, int ncomps,
                      amped_tensor_info *info, amped_plan *plan) {
  check_ok(amped_tensor_info_of_cells(dense, info));
  check_ok(amped_plan_create(plan, info,
                             &(amped_plan_request){.ncomps = ncomps,
                                                   .value_type = AMPED_F32,
                                                   .rank = rank,
                                                   .nranks = nranks,
                                                   .needs = {.cells = true}}));
}

START_TEST(slabs_are_the_own_rows_and_cover_the_mode) {
  const uint64_t shapes[][3] = {{97, 5, 11}, {3, 200, 7}, {2, 3, 70001}, {1, 2, 1}, {8, 8, 8}};
  for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
    for (int nranks = 1; nranks <= 5; nranks++) {
      const amped_dense_info dense = info_of(3, shapes[s], AMPED_CELL_F32);
      uint64_t next = 0;
      uint64_t cells = 0;
      for (int p = 0; p < nranks; p++) {
        amped_tensor_info info;
        amped_plan plan;
        make_plan(&dense, p, nranks, 4, &info, &plan);
        const amped_dense_plan *d = &plan.dense;
        const amped_row_plan *rows = &plan.modes[d->slab_mode].rows;
        ck_assert_uint_eq(d->first, next);
        ck_assert_uint_eq(d->count, rows->rank_rows[p]);
        for (uint64_t i = d->first; i < d->first + d->count; i++)
          ck_assert_uint_eq(amped_plan_position(&plan, d->slab_mode, i),
                            (uint64_t)p * rows->block_rows + i - d->first);
        for (int m = 0; m < 3; m++)
          ck_assert_uint_eq(plan.modes[m].copy.output_rows, plan.modes[m].rows.block_rows);
        next += d->count;
        cells += d->cells;
        amped_plan_destroy(&plan);
        amped_tensor_info_free(&info);
      }
      ck_assert_uint_eq(next, dense.dims[amped_dense_slab_mode(&dense, nranks)]);
      ck_assert_uint_eq(cells, dense.cells);
    }
}
END_TEST

START_TEST(the_slab_mode_is_the_first_where_it_is_long_enough) {
  const uint64_t even[] = {100, 400, 10};
  const uint64_t flat[] = {99, 400, 10};
  const uint64_t small[] = {15, 16, 10};
  const amped_dense_info a = info_of(3, even, AMPED_CELL_F32);
  const amped_dense_info b = info_of(3, flat, AMPED_CELL_F32);
  const amped_dense_info c = info_of(3, small, AMPED_CELL_F32);
  ck_assert_int_eq(amped_dense_slab_mode(&a, 4), 0);
  ck_assert_int_eq(amped_dense_slab_mode(&b, 4), 1);
  ck_assert_int_eq(amped_dense_slab_mode(&c, 1), 0);
  ck_assert_int_eq(amped_dense_slab_mode(&c, 2), 1);
}
END_TEST

/* 3 R / K of X is T where one mode of four is contracted: for short modes that is more than X. */
START_TEST(the_tree_with_fewer_bytes_is_taken) {
  const uint64_t long_modes[] = {200, 200, 200, 200};
  const uint64_t short_modes[] = {20, 20, 20, 20};
  const amped_dense_info a = info_of(4, long_modes, AMPED_CELL_F32);
  const amped_dense_info b = info_of(4, short_modes, AMPED_CELL_F32);
  amped_dense_plan plan;
  amped_dense_plan_make(&plan, &a, 1, 16, 4, 0, 200);
  ck_assert_int_eq(plan.tree, AMPED_TREE_ONE);
  ck_assert_uint_eq(amped_dense_largest(&plan, 4, 16), UINT64_C(200) * 200 * 200 * 16);
  /* Passes, and T written once and read by three updates, four times in three sweeps. */
  ck_assert_double_eq_tol(amped_dense_sweep_bytes(&plan, 4, 16, 4, AMPED_TREE_ONE),
                          4.0 / 3.0 * 1.6e9 * 4.0 * (1.0 + 4.0 * 16.0 / 200.0), 1.0);
  amped_dense_plan_make(&plan, &b, 1, 16, 4, 0, 20);
  ck_assert_int_eq(plan.tree, AMPED_TREE_SPLIT);
  ck_assert_uint_eq(amped_dense_largest(&plan, 4, 16), UINT64_C(20) * 20 * 16);
  ck_assert_double_eq_tol(amped_dense_sweep_bytes(&plan, 4, 16, 4, AMPED_TREE_SPLIT),
                          2.0 * 160000.0 * 4.0 + 2.0 * 400.0 * 16.0 * 4.0 * 3.0, 1.0);
}
END_TEST

/* A run: its factors' versions, and the place that each of its updates found contracted. */
typedef struct run {
  amped_dense_plan plan;
  amped_dense_kept kept;
  uint64_t clock, versions[AMPED_MAX_ORDER];
  uint64_t passes;
} run;

static void begin_run(run *r, int order, amped_dense_tree tree) {
  memset(r, 0, sizeof *r);
  r->plan.tree = tree;
  for (int m = 0; m < order; m++) {
    r->plan.layout[m] = order - 1 - m;
    r->versions[m] = ++r->clock;
  }
}

static int update(run *r, int order, int mode) {
  r->passes += !amped_dense_serves(&r->kept, &r->plan, order, mode, r->versions);
  r->versions[mode] = ++r->clock;
  return r->kept.from;
}

START_TEST(a_run_that_goes_on_contracts_what_it_would_have) {
  for (int order = AMPED_MIN_ORDER; order <= 8; order++)
    for (uint64_t sweeps = 1; sweeps < 9; sweeps++)
      for (int tree = AMPED_TREE_ONE; tree <= AMPED_TREE_SPLIT; tree++) {
        run whole, part;
        begin_run(&whole, order, tree);
        for (uint64_t u = 0; u < sweeps * (uint64_t)order; u++)
          update(&whole, order, (int)(u % (uint64_t)order));
        begin_run(&part, order, tree);
        amped_dense_go_on(&part.kept, &part.plan, order, 0, sweeps);
        for (int u = 0; u < 3 * order; u++)
          ck_assert_int_eq(update(&whole, order, u % order), update(&part, order, u % order));
      }
}
END_TEST

START_TEST(passes_are_those_of_the_tree) {
  for (int order = AMPED_MIN_ORDER; order <= 8; order++) {
    run r;
    begin_run(&r, order, AMPED_TREE_ONE);
    for (int u = 0; u < order * (order - 1); u++)
      update(&r, order, u % order);
    ck_assert_uint_eq(r.passes, (uint64_t)order);
    begin_run(&r, order, AMPED_TREE_SPLIT);
    for (int u = 0; u < order * (order - 1); u++)
      update(&r, order, u % order);
    ck_assert_uint_eq(r.passes, 2 * (uint64_t)(order - 1));
  }
}
END_TEST

START_TEST(nothing_stale_is_kept) {
  run r;
  begin_run(&r, 4, AMPED_TREE_ONE);
  ck_assert_int_eq(update(&r, 4, 0), 0); /* mode 3: filled last, the first in the layout */
  ck_assert_int_eq(update(&r, 4, 1), 0);
  ck_assert_uint_eq(r.passes, 1);
  r.versions[3] = ++r.clock;
  ck_assert_int_eq(update(&r, 4, 2), 0); /* again, as it changed */
  ck_assert_uint_eq(r.passes, 2);
  ck_assert_int_eq(update(&r, 4, 3), 1); /* mode 2: updated last */
  ck_assert_uint_eq(r.passes, 3);
}
END_TEST

TESTING_MAIN("dense_plan", slabs_are_the_own_rows_and_cover_the_mode,
             the_slab_mode_is_the_first_where_it_is_long_enough, the_tree_with_fewer_bytes_is_taken,
             passes_are_those_of_the_tree, a_run_that_goes_on_contracts_what_it_would_have,
             nothing_stale_is_kept)
