/* Mixtures: some modes have sorted copies of their own, the others share one in boxes. */
#include "tests/lib/testing_boxes.h"

static setup mixed(unsigned own) {
  setup how = alone();
  how.needs.one_copy = how.needs.mixes = true;
  how.own = own;
  return how;
}

static amped_requirement requirement(problem *p, const setup *how) {
  amped_requirement r;
  bench s;
  bench_plan(&s, p, how);
  check_ok(amped_worker_require(&s.w, &s.plan, &r));
  bench_close(&s);
  return r;
}

/* The longest mode is 0, 0 and 1. */
static void every_set(int shape, int order, amped_vtype type) {
  static const int widths[] = {1, 5, 16, 33};
  const uint64_t *const shapes[] = {odd_dims, long_dims, flat_dims};
  for (unsigned own = 0; own < 1U << order; own++) {
    problem p;
    setup how = mixed(own);
    how.index_type = own % 4 == 3 ? AMPED_U64 : 0;
    how.parts = own % 3 == 0 ? 3 : 0;
    problem_create(&p, order, shapes[shape], 3000, widths[own % 4], type);
    team_is_right(&p, 1 + (int)(own / 2 + (unsigned)shape) % MOST_RANKS, how);
    problem_free(&p);
  }
}

START_TEST(every_set_of_modes) {
  for (int order = 3; order <= 5; order++)
    for (int shape = 0; shape < 3; shape++)
      every_set(shape, order, (order + shape) % 2 == 0 ? AMPED_F32 : AMPED_F64);
  check_no_leak();
}

START_TEST(any_number_of_ranks) {
  for (unsigned own = 1; own < 8; own++)
    for (int nranks = 1; nranks <= MOST_RANKS; nranks++) {
      problem p;
      problem_create(&p, 4, flat_dims, own == 5 ? 2 : 20000, 12, AMPED_F32);
      team_is_right(&p, nranks, mixed(own << 1));
      problem_free(&p);
    }
  check_no_leak();
}

START_TEST(order_eight) {
  problem p;
  problem_create(&p, AMPED_MAX_ORDER, long_dims, 4000, 6, AMPED_F32);
  team_is_right(&p, 3, mixed(0x5a));
  problem_free(&p);
  check_no_leak();
}

START_TEST(the_longest_mode_has_no_copy_of_its_own) {
  problem p;
  bench s;
  const setup how = mixed(0xff);
  problem_create(&p, 4, flat_dims, 900, 4, AMPED_F32);
  bench_plan(&s, &p, &how);
  ck_assert_int_eq(s.plan.boxed, 1);
  ck_assert_uint_eq(s.plan.own, 0xd);
  ck_assert_int_eq(amped_plan_copies(&s.plan), 4);
  bench_close(&s);
  problem_free(&p);
}

/* Modes that share a copy have none; a copy takes what it takes alone. */
START_TEST(memory_adds_up) {
  problem p;
  problem_create(&p, 4, long_dims, 200000, 4, AMPED_F32);
  const setup how = mixed(1U << 2);
  const setup boxes = mixed(0);
  const setup copies = alone();
  const amped_requirement m = requirement(&p, &how);
  const amped_requirement one = requirement(&p, &boxes);
  const amped_requirement all = requirement(&p, &copies);
  ck_assert_uint_eq(m.copy_bytes[1] + m.copy_bytes[3], 0);
  ck_assert_uint_eq(m.copy_bytes[2], all.copy_bytes[2]);
  ck_assert_uint_gt(m.copy_bytes[0], 0);
  ck_assert_uint_lt(m.copy_bytes[0], one.copy_bytes[0]); /* a way less */
  /* What copies take while they are made is free again when the next one begins. */
  ck_assert_uint_ge(m.passing_bytes, all.passing_bytes);
  ck_assert_uint_le(m.passing_bytes, one.passing_bytes + all.passing_bytes);
  ck_assert_uint_le(m.host_bytes - m.passing_bytes,
                    one.host_bytes - one.passing_bytes + all.host_bytes - all.passing_bytes);
  for (int mode = 0; mode < 4; mode++) {
    ck_assert_uint_eq(m.read_bytes[mode], mode == 2 ? all.read_bytes[2] : one.read_bytes[mode]);
    ck_assert_uint_eq(m.streamed_bytes[mode], 0);
  }
  ck_assert_uint_gt(m.device_bytes + m.host_bytes, m.copy_bytes[0] + m.copy_bytes[2]);
  ck_assert_uint_lt(m.copy_bytes[0] + m.copy_bytes[2],
                    all.copy_bytes[0] + all.copy_bytes[1] + all.copy_bytes[2] + all.copy_bytes[3]);
  problem_free(&p);
  check_no_leak();
}

/* Boxes stay on the device, and sorted copies are streamed as they do not fit. On CPUs all is
 * memory. */
START_TEST(sorted_copies_are_streamed) {
  static const unsigned own[] = {2, 4, 6};
  for (int n = 0; n < 3; n++) {
    problem p;
    setup how = mixed(own[n]);
    problem_create(&p, 3, long_dims, 400000, 8, n == 1 ? AMPED_F64 : AMPED_F32);
    amped_requirement r = requirement(&p, &how);
    if (backend()->device_pointers) {
      how.options.device_memory = r.device_bytes - r.copy_bytes[n == 1 ? 2 : 1] / 2;
      r = requirement(&p, &how);
      ck_assert_uint_gt(r.streamed_bytes[1] + r.streamed_bytes[2], 0);
      ck_assert_uint_eq(r.streamed_bytes[0], 0);
      ck_assert_uint_le(r.device_bytes, how.options.device_memory);
    }
    team_is_right(&p, 1, how);
    problem_free(&p);
  }
  check_no_leak();
}

START_TEST(all_is_streamed) {
  problem p;
  setup how = mixed(1U << 2);
  if (backend()->device_pointers)
    how.options.residency = AMPED_RESIDENCY_STREAM;
  problem_create(&p, 3, long_dims, 60000, 8, AMPED_F32);
  team_is_right(&p, 2, how);
  problem_free(&p);
  check_no_leak();
}

START_TEST(fewer_components) {
  const setup how = mixed(1U << 2);
  fewer_components_are_right(&how);
}

START_TEST(the_same_bits_on_any_number_of_threads) {
  problem p;
  setup how = mixed(5);
  how.options.deterministic = true;
  if (backend()->device_pointers)
    how.options.device_memory = UINT64_C(1) << 28;
  problem_create(&p, 3, flat_dims, 80000, 32, AMPED_F32);
  bits_are_those_of_one_thread(&p, how);
  problem_free(&p);
  check_no_leak();
}

START_TEST(short_memory_is_an_error) {
  const setup how = mixed(1U << 1);
  no_allocation_is_trusted(&how);
}

TESTING_MAIN("mixed", every_set_of_modes, any_number_of_ranks, order_eight,
             the_longest_mode_has_no_copy_of_its_own, memory_adds_up, sorted_copies_are_streamed,
             all_is_streamed, fewer_components, the_same_bits_on_any_number_of_threads,
             short_memory_is_an_error)
