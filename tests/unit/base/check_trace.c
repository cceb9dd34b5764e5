/* Recording a trace: order, nesting, the ring, threads, and no events when off. */
#include <pthread.h>

#include "tests/lib/testing.h"
#include "base/timer.h"
#include "base/trace.h"

static const amped_trace_event *taken;
static uint64_t count;
static uint64_t dropped;

START_TEST(nothing_is_recorded_when_off) {
  ck_assert(!amped_trace_is_on());
  amped_trace_begin(AMPED_PHASE_SOLVE, 1);
  amped_trace_end();
  amped_trace_span(AMPED_LANE_KERNELS, AMPED_PHASE_KERNEL, 0, 1.0, 2.0);
  amped_trace_take(&taken, &count, &dropped);
  ck_assert_uint_eq(count, 0);
  ck_assert_uint_eq(dropped, 0);
  amped_trace_close();
  check_no_leak();
}
END_TEST

START_TEST(phases_nest_and_come_out_by_begin) {
  double before = amped_time();
  check_ok(amped_trace_open(16));
  ck_assert(amped_trace_is_on());
  amped_trace_begin(AMPED_PHASE_RUN, AMPED_NO_NUMBER);
  amped_trace_begin(AMPED_PHASE_SWEEP, 7);
  amped_trace_begin(AMPED_PHASE_MTTKRP, 2);
  amped_trace_end();
  amped_trace_begin(AMPED_PHASE_EXCHANGE, INT64_C(1)
                                              << 40); /* too large for a number: recorded as none */
  amped_trace_end();
  amped_trace_end();
  amped_trace_end();
  amped_trace_take(&taken, &count, &dropped);
  ck_assert(!amped_trace_is_on());
  ck_assert_uint_eq(count, 4);
  ck_assert_uint_eq(dropped, 0);
  static const amped_phase order[] = {AMPED_PHASE_RUN, AMPED_PHASE_SWEEP, AMPED_PHASE_MTTKRP,
                                      AMPED_PHASE_EXCHANGE};
  static const int32_t numbers[] = {AMPED_NO_NUMBER, 7, 2, AMPED_NO_NUMBER};
  for (int i = 0; i < 4; i++) {
    ck_assert_uint_eq(taken[i].phase, order[i]);
    ck_assert_int_eq(taken[i].number, numbers[i]);
    ck_assert_uint_eq(taken[i].lane, AMPED_LANE_MAIN);
    ck_assert_int_eq(taken[i].depth, i < 2 ? i : 2);
    ck_assert(taken[i].begin_sec >= before && taken[i].end_sec >= taken[i].begin_sec);
    ck_assert(taken[i].end_sec <= taken[0].end_sec);
  }
  ck_assert(taken[2].end_sec <= taken[3].begin_sec);
  ck_assert_str_eq(amped_phase_name(AMPED_PHASE_MTTKRP), "mttkrp");
  ck_assert_str_eq(amped_phase_number(AMPED_PHASE_MTTKRP), "mode");
  for (int p = 0; p < AMPED_PHASES; p++)
    ck_assert(amped_phase_name((amped_phase)p) != NULL &&
              amped_phase_number((amped_phase)p) != NULL);
  amped_trace_close();
  check_no_leak();
}
END_TEST

START_TEST(of_two_that_begin_together_the_outer_comes_first) {
  check_ok(amped_trace_open(8));
  amped_trace_span(AMPED_LANE_TRANSFERS, AMPED_PHASE_COPY, 0, 5.0, 6.0);
  amped_trace_span(AMPED_LANE_TRANSFERS, AMPED_PHASE_KERNEL, 0, 5.0, 7.0);
  amped_trace_span(AMPED_LANE_TRANSFERS, AMPED_PHASE_MTTKRP, 0, 4.0, 9.0);
  amped_trace_take(&taken, &count, &dropped);
  ck_assert_uint_eq(taken[0].phase, AMPED_PHASE_MTTKRP);
  ck_assert_uint_eq(taken[1].phase, AMPED_PHASE_KERNEL);
  ck_assert_uint_eq(taken[2].phase, AMPED_PHASE_COPY);
  ck_assert_uint_eq(taken[2].lane, AMPED_LANE_TRANSFERS);
  amped_trace_close();
}
END_TEST

START_TEST(the_ring_keeps_the_newest_and_counts_the_rest) {
  check_ok(amped_trace_open(4));
  amped_trace_begin(AMPED_PHASE_RUN, AMPED_NO_NUMBER);
  for (int i = 0; i < 10; i++) {
    amped_trace_begin(AMPED_PHASE_SWEEP, i);
    amped_trace_end();
  }
  amped_trace_end();
  amped_trace_take(&taken, &count, &dropped);
  ck_assert_uint_eq(count, 4);
  ck_assert_uint_eq(dropped, 7);
  ck_assert_uint_eq(taken[0].phase, AMPED_PHASE_RUN);
  for (int i = 0; i < 3; i++)
    ck_assert_int_eq(taken[1 + i].number, 7 + i);
  amped_trace_close();
  check_no_leak();
}
END_TEST

#define ROUNDS 1000

static void *read_much(void *argument) {
  (void)argument;
  amped_trace_in_lane(AMPED_LANE_READER);
  for (int i = 0; i < ROUNDS; i++) {
    amped_trace_begin(AMPED_PHASE_READ, i);
    amped_trace_end();
  }
  return NULL;
}

START_TEST(a_thread_records_in_its_own_lane_and_depth) {
  pthread_t thread;
  uint64_t seen[AMPED_LANES] = {0};
  check_ok(amped_trace_open(4 * ROUNDS));
  amped_trace_begin(AMPED_PHASE_DISTRIBUTE, 0);
  ck_assert_int_eq(pthread_create(&thread, NULL, read_much, NULL), 0);
  for (int i = 0; i < ROUNDS; i++) {
    amped_trace_begin(AMPED_PHASE_UPLOAD, i);
    amped_trace_end();
  }
  ck_assert_int_eq(pthread_join(thread, NULL), 0);
  amped_trace_end();
  amped_trace_take(&taken, &count, &dropped);
  ck_assert_uint_eq(count, 2 * ROUNDS + 1);
  for (uint64_t i = 0; i < count; i++) {
    bool reads = taken[i].phase == AMPED_PHASE_READ;
    seen[taken[i].lane]++;
    ck_assert_uint_eq(taken[i].lane, reads ? AMPED_LANE_READER : AMPED_LANE_MAIN);
    ck_assert_uint_eq(taken[i].depth, taken[i].phase == AMPED_PHASE_UPLOAD ? 1 : 0);
  }
  ck_assert_uint_eq(seen[AMPED_LANE_READER], ROUNDS);
  ck_assert_uint_eq(seen[AMPED_LANE_MAIN], ROUNDS + 1);
  amped_trace_close();
}
END_TEST

START_TEST(no_memory_is_an_error) {
  amped_mem_fail_at(0);
  check_fails(AMPED_FAILED, "the trace", amped_trace_open(16));
  amped_mem_fail_at(-1);
  ck_assert(!amped_trace_is_on());
  check_no_leak();
}
END_TEST

TESTING_MAIN("trace", nothing_is_recorded_when_off, phases_nest_and_come_out_by_begin,
             of_two_that_begin_together_the_outer_comes_first,
             the_ring_keeps_the_newest_and_counts_the_rest,
             a_thread_records_in_its_own_lane_and_depth, no_memory_is_an_error)
