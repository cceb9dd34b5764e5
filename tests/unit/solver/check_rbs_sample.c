/* RBS samples: every index is in one set, sets ascend, are even and a rank's own; the same again
 * from the same seed and epoch; the numbers that settings choose or refuse. */
#include "solver/cpd/cell_sample.h"
#include "solver/cpd/rbs_settings.h"
#include "tests/lib/testing.h"

#define MOST_DIM 200

static const uint64_t dims[] = {53, 20, 101};

static amped_rbs_shape shape_of(int nranks, bool slices, const uint64_t *rank_rows,
                                uint64_t count) {
  return (amped_rbs_shape){.order = 3,
                           .dims = {dims[0], dims[1], dims[2]},
                           .nranks = nranks,
                           .slices = slices,
                           .mode = 2,
                           .rank_rows = rank_rows,
                           .count = count};
}

/* Over all steps and ranks each index of the mode comes once; own ones at their ranks. Returns the
 * difference of the largest and the least set. */
static uint64_t visits_all(const amped_rbs_sample *s, int mode) {
  const amped_rbs_shape *shape = &s->shape;
  const amped_block_shape most = amped_rbs_sample_most(shape);
  int seen[MOST_DIM] = {0};
  uint64_t least = UINT64_MAX;
  uint64_t largest = 0;
  for (uint64_t step = 0; step < amped_rbs_sample_steps(shape); step++)
    for (int p = 0; p < shape->nranks; p++) {
      amped_block_sets sets;
      uint64_t first = 0;
      amped_rbs_sample_sets(s, step, p, &sets);
      ck_assert_uint_le(sets.count, most.count);
      for (int q = 0; q < p && shape->rank_rows != NULL; q++)
        first += shape->rank_rows[q];
      for (uint64_t b = 0; b < sets.count; b++) {
        const uint64_t rows = sets.first[mode][b + 1] - sets.first[mode][b];
        ck_assert_uint_le(rows, most.dims[mode]);
        least = rows < least ? rows : least;
        largest = rows > largest ? rows : largest;
        for (uint64_t i = sets.first[mode][b]; i < sets.first[mode][b + 1]; i++) {
          const uint64_t index = sets.indices[mode][i];
          ck_assert(i == sets.first[mode][b] || sets.indices[mode][i - 1] < index);
          ck_assert_uint_lt(index, shape->dims[mode]);
          if (mode == shape->mode && shape->rank_rows != NULL)
            ck_assert(index >= first && index - first < shape->rank_rows[p]);
          seen[index]++;
        }
      }
    }
  for (uint64_t i = 0; i < shape->dims[mode]; i++)
    ck_assert_int_eq(seen[i], 1);
  return largest - least;
}

START_TEST(blocks_share_no_index) {
  static const uint64_t rows[][4] = {{101}, {51, 50}, {34, 34, 33}, {26, 25, 25, 25}};
  for (int nranks = 1; nranks <= 4; nranks++)
    for (uint64_t count = (uint64_t)nranks; count <= 20; count++)
      for (int own = 0; own < 2; own++) {
        const amped_rbs_shape shape =
            shape_of(nranks, false, own > 0 ? rows[nranks - 1] : NULL, count);
        amped_rbs_sample s;
        check_ok(amped_rbs_sample_create(&shape, &s));
        for (uint64_t epoch = 0; epoch < 3; epoch++) {
          amped_rbs_sample_draw(&s, 7, epoch);
          for (int m = 0; m < 3; m++) {
            const uint64_t uneven = visits_all(&s, m);
            ck_assert(uneven <= 1 || (own > 0 && m == 2));
          }
        }
        amped_rbs_sample_free(&s);
      }
  check_no_leak();
}
END_TEST

START_TEST(groups_visit_each_slice_once) {
  static const uint64_t rows[][4] = {{101}, {51, 50}, {34, 34, 33}, {26, 25, 25, 25}};
  for (int nranks = 1; nranks <= 4; nranks++)
    for (uint64_t count = 1; count <= 101; count += 7)
      for (int own = 0; own < 2; own++) {
        const amped_rbs_shape shape =
            shape_of(nranks, true, own > 0 ? rows[nranks - 1] : NULL, count);
        amped_rbs_sample s;
        amped_block_sets sets;
        check_ok(amped_rbs_sample_create(&shape, &s));
        amped_rbs_sample_draw(&s, 7, 1);
        (void)visits_all(&s, 2);
        amped_rbs_sample_sets(&s, count - 1, nranks - 1, &sets);
        ck_assert_uint_eq(sets.count, 1);
        ck_assert_uint_eq(sets.first[0][1] - sets.first[0][0], dims[0]); /* all of the others */
        for (uint64_t i = 0; i < dims[0]; i++)
          ck_assert_uint_eq(sets.indices[0][i], i);
        amped_rbs_sample_free(&s);
      }
  check_no_leak();
}
END_TEST

/* No set is a range, and no two epochs or seeds have the same. */
START_TEST(sets_are_scattered_and_differ) {
  const amped_rbs_shape shape = shape_of(1, false, NULL, 4);
  uint64_t drawn[4][MOST_DIM];
  amped_rbs_sample s;
  check_ok(amped_rbs_sample_create(&shape, &s));
  for (int i = 0; i < 4; i++) {
    amped_rbs_sample_draw(&s, i < 2 ? 7 : 8, (uint64_t)i % 2);
    memcpy(drawn[i], s.indices[2], dims[2] * sizeof(uint64_t));
    for (int b = 0; b < 4; b++)
      ck_assert(s.indices[2][s.first[2][b + 1] - 1] - s.indices[2][s.first[2][b]] > 60);
    for (int j = 0; j < i; j++)
      ck_assert(memcmp(drawn[i], drawn[j], dims[2] * sizeof(uint64_t)) != 0);
  }
  amped_rbs_sample_draw(&s, 7, 1);
  ck_assert(memcmp(drawn[1], s.indices[2], dims[2] * sizeof(uint64_t)) == 0);
  amped_rbs_sample_free(&s);
  check_no_leak();
}
END_TEST

static amped_plan plan_of(int nranks, int ncomps, bool outside) {
  amped_plan plan;
  memset(&plan, 0, sizeof plan);
  plan.order = 3;
  plan.nranks = nranks;
  plan.ncomps = ncomps;
  memcpy(plan.dims, dims, sizeof dims);
  plan.dense.slab_mode = 2;
  plan.dense.outside = outside;
  return plan;
}

static const amped_rbs_options usual = {.epochs = -1, .search = -1, .polish = -1};

START_TEST(settings_follow_from_sizes) {
  amped_rbs_settings s;
  amped_rbs_options o = usual;
  amped_plan plan = plan_of(1, 1, false); /* 8 blocks of 2 indices fit into 20 */
  check_ok(amped_rbs_settings_make(&usual, &plan, &s));
  ck_assert(!s.shape.slices && s.shape.count == 8 && s.block == 2);
  plan = plan_of(1, 2, false); /* 8 blocks of 4 do not fit, but 5 do */
  check_ok(amped_rbs_settings_make(&usual, &plan, &s));
  ck_assert(s.shape.slices);
  o.sampler = AMPED_SAMPLE_BLOCKS;
  check_ok(amped_rbs_settings_make(&o, &plan, &s));
  ck_assert(!s.shape.slices && s.shape.count == 5 && s.block == 4 && s.polish == 50);
  ck_assert(s.search == 20 && s.fit_cells == 4096);
  ck_assert_double_eq_tol(amped_rbs_epoch_share(&s), 1.0 / 25.0, 1e-15);
  ck_assert_double_eq(amped_rbs_lambda(&s, 0, 0), AMPED_RBS_LEAST);
  ck_assert_double_eq(amped_rbs_lambda(&s, 1, 0), 0.6);
  ck_assert_double_eq_tol(amped_rbs_lambda(&s, 2, 0), 0.36, 1e-15);
  ck_assert_double_eq_tol(amped_rbs_lambda(&s, s.search - 1, 0), pow(0.6, 19), 1e-15);
  ck_assert_double_eq(amped_rbs_lambda(&s, s.search, 0), 0.01);
  ck_assert_double_eq_tol(amped_rbs_lambda(&s, s.search + 2, 0), 0.01 * 1.12 * 1.12, 1e-15);
  ck_assert_double_eq(amped_rbs_lambda(&s, s.search + 900, 0), 100.0);
  plan = plan_of(1, 6, false); /* two blocks of 12 indices do not fit into 20 */
  check_ok(amped_rbs_settings_make(&usual, &plan, &s));
  ck_assert(s.shape.slices && s.shape.mode == 2 && s.shape.count == 4 && s.block == 30);
  ck_assert_double_eq(amped_rbs_epoch_share(&s), 1.0);
  ck_assert(s.search == 1 && s.fit_cells == AMPED_SAMPLED_CELLS);
  ck_assert_double_eq(amped_rbs_lambda(&s, 0, 0), 1.0);
  ck_assert_double_eq_tol(amped_rbs_lambda(&s, 0, 3), pow(0.6, 3), 1e-15);
  ck_assert_double_eq_tol(amped_rbs_lambda(&s, s.search, 2), 0.01 * 1.12 * 1.12, 1e-15);
  ck_assert_double_eq_tol(amped_rbs_lambda(&s, s.search + 1, 0), 0.01 * pow(1.12, 4), 1e-15);
  plan = plan_of(3, 2, true);
  check_ok(amped_rbs_settings_make(&usual, &plan, &s));
  ck_assert(s.shape.slices && s.shape.rank_rows == NULL && s.polish == 0);
  plan = plan_of(1, 40, false);
  check_ok(amped_rbs_settings_make(&usual, &plan, &s));
  ck_assert(s.block == 40);
}
END_TEST

/* The status of settings for this sampler and --block. */
static amped_status made(amped_rbs_sampler sampler, uint64_t block, const amped_plan *plan) {
  amped_rbs_options o = usual;
  amped_rbs_settings s;
  o.sampler = sampler;
  o.block = block;
  const amped_status status = amped_rbs_settings_make(&o, plan, &s);
  amped_status_clear();
  return status;
}

START_TEST(settings_that_cannot_be_are_refused) {
  const amped_plan one = plan_of(1, 2, false);
  const amped_plan six = plan_of(6, 2, false);
  const amped_plan large = plan_of(1, 11, false);
  const amped_plan outside = plan_of(1, 2, true);
  amped_rbs_options o = usual;
  amped_rbs_settings s;
  ck_assert_int_eq(made(AMPED_SAMPLE_BLOCKS, 0, &one), AMPED_OK);
  ck_assert_int_eq(made(AMPED_SAMPLE_BLOCKS, 0, &six), AMPED_USAGE);
  ck_assert_int_eq(made(AMPED_SAMPLE_BLOCKS, 0, &large), AMPED_USAGE);
  ck_assert_int_eq(made(AMPED_SAMPLE_AUTO, 10, &one), AMPED_OK);
  ck_assert_int_eq(made(AMPED_SAMPLE_AUTO, 11, &one), AMPED_USAGE);
  ck_assert_int_eq(made(AMPED_SAMPLE_AUTO, 3, &six), AMPED_OK);
  ck_assert_int_eq(made(AMPED_SAMPLE_AUTO, 4, &six), AMPED_USAGE);
  ck_assert_int_eq(made(AMPED_SAMPLE_SLICES, 101, &one), AMPED_OK);
  ck_assert_int_eq(made(AMPED_SAMPLE_SLICES, 102, &one), AMPED_USAGE);
  ck_assert_int_eq(amped_rbs_settings_make(&o, &outside, &s), AMPED_OK);
  ck_assert_uint_eq(s.polish, 0); /* a pass over a file is long: it has to be asked for */
  o.polish = 1;
  ck_assert_int_eq(amped_rbs_settings_make(&o, &outside, &s), AMPED_OK);
  ck_assert_uint_eq(s.polish, 1);
  o.polish = 0;
  o.epochs = 4;
  o.search = 5;
  ck_assert_int_eq(amped_rbs_settings_make(&o, &one, &s), AMPED_USAGE);
  amped_status_clear();
}
END_TEST

TESTING_MAIN("rbs_sample", blocks_share_no_index, groups_visit_each_slice_once,
             sets_are_scattered_and_differ, settings_follow_from_sizes,
             settings_that_cannot_be_are_refused)
