/* Outcome: every way to end, and changes that look like the tolerance. */
#include <stdlib.h>

#include "solver/outcome.h"
#include "tests/lib/testing.h"

static amped_solver_result a_result(double *history, uint64_t sweeps, const char *reason) {
  return (amped_solver_result){
      .metric = "fit", .history = history, .sweeps = sweeps, .stop_reason = reason};
}

START_TEST(the_change_stands_beside_the_tolerance) {
  double fits[] = {0.25, 0.5, 0.5 + 9.6e-6};
  amped_solver_result r = a_result(fits, 3, "tolerance");
  ck_assert_str_eq(amped_outcome_of(&r, 1e-5, 0.0).text,
                   "fit 0.50000960 after 3 sweeps (fit changed by 9.60e-06 < 1e-05 = --tol)");
  r = a_result(fits, 2, "iterations");
  ck_assert_str_eq(amped_outcome_of(&r, 1e-5, 0.0).text,
                   "fit 0.50000000 after 2 sweeps (--iters reached; fit changed by 2.50e-01, "
                   "--tol=1e-05)");
  ck_assert_str_eq(amped_outcome_of(&r, 0.0, 0.0).text,
                   "fit 0.50000000 after 2 sweeps (--iters reached; fit changed by 2.50e-01)");
  r = a_result(fits, 1, "iterations");
  ck_assert_str_eq(amped_outcome_of(&r, 1e-5, 0.0).text,
                   "fit 0.25000000 after 1 sweep (--iters reached)");
  r.metric = "rmse";
  r.stop_reason = "signal";
  ck_assert_str_eq(amped_outcome_of(&r, 1e-5, 0.0).text, "rmse 0.25000000 after 1 sweep (signal)");
}

START_TEST(a_change_below_the_tolerance_is_written_below_it) {
  double fits[] = {0.0, 9.9999e-6};
  const amped_solver_result r = a_result(fits, 2, "tolerance");
  ck_assert_ptr_nonnull(strstr(amped_outcome_of(&r, 1e-5, 0.0).text, " 9.9999e-06 < 1e-05 "));
  fits[1] = 0x1.fffffffffffffp-18; /* the double before 2^-17 */
  const amped_outcome outcome = amped_outcome_of(&r, 0x1p-17, 0.0);
  const char *text = strstr(outcome.text, "by ");
  ck_assert_ptr_nonnull(text);
  ck_assert_double_lt(strtod(text + 3, NULL), 0x1p-17);
}

/* The last fit is exact, the change that ended the run is of rough ones. */
START_TEST(the_change_is_of_values_before_the_end_moved_the_last) {
  double fits[] = {0.25, 0.5 + 3e-4};
  amped_solver_result r = a_result(fits, 2, "iterations");
  r.moved = 3e-4;
  ck_assert_str_eq(amped_outcome_of(&r, 0.0, 0.0).text,
                   "fit 0.50030000 after 2 sweeps (--iters reached; fit changed by 2.50e-01)");
}

START_TEST(a_goal_is_reached_or_said_to_be_missed) {
  double fits[] = {0.25, 0.5};
  amped_solver_result r = a_result(fits, 2, AMPED_GOAL);
  ck_assert_str_eq(amped_outcome_of(&r, 1e-5, 0.5).text,
                   "fit 0.50000000 after 2 sweeps (at least --stop-fit=0.5)");
  ck_assert(amped_solver_result_has_reached(&r, 0.5));
  ck_assert(!amped_solver_result_has_reached(&r, 0.6));
  ck_assert(!amped_solver_result_has_reached(&r, 0.0)); /* no goal */
  r.stop_reason = "iterations";
  ck_assert_str_eq(amped_outcome_of(&r, 1e-5, 0.75).text,
                   "fit 0.50000000 after 2 sweeps (--iters reached; fit changed by 2.50e-01, "
                   "--tol=1e-05, below --stop-fit=0.75)");
  r.sweeps = 1;
  ck_assert_str_eq(amped_outcome_of(&r, 1e-5, 0.75).text,
                   "fit 0.25000000 after 1 sweep (--iters reached, below --stop-fit=0.75)");
  r.sweeps = 0;
  ck_assert(!amped_solver_result_has_reached(&r, 0.5));
}

TESTING_MAIN("outcome", the_change_stands_beside_the_tolerance,
             a_change_below_the_tolerance_is_written_below_it,
             the_change_is_of_values_before_the_end_moved_the_last,
             a_goal_is_reached_or_said_to_be_missed)
