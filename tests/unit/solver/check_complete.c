/* Completion: the course of the penalty, the start, the options that contradict each other. */
#include <math.h>

#include "solver/complete/complete_search.h"
#include "solver/complete/complete_start.h"
#include "tests/lib/testing.h"

START_TEST(the_penalty_of_auto_is_held_and_then_falls) {
  const amped_complete_options o = {.reg_count = 0};
  const amped_complete_problem p = {.options = &o, .starts = 3};
  ck_assert_int_eq(amped_complete_runs(&p), 24);
  ck_assert(amped_complete_reg(&o, 0, 1) == 2.0 && amped_complete_reg(&o, 0, 10) == 2.0);
  ck_assert_double_eq_tol(amped_complete_reg(&o, 0, 11), 1.9, 1e-15);
  ck_assert_double_eq_tol(amped_complete_reg(&o, 0, 30), 2.0 * pow(0.95, 20.0), 1e-15);
  ck_assert(amped_complete_reg(&o, 1, 1) == 4.0 && amped_complete_reg(&o, 7, 1) == 0.001);
  ck_assert(amped_complete_reg(&o, 8, 1) == 2.0); /* the second start's first */
}

START_TEST(the_user_s_penalties_stay) {
  const amped_complete_options o = {.reg_count = 2, .reg = {0.5, 0.0}};
  const amped_complete_problem p = {.options = &o, .starts = 2};
  ck_assert_int_eq(amped_complete_runs(&p), 4);
  for (uint64_t sweep = 1; sweep < 100; sweep += 33)
    for (int run = 0; run < 4; run++)
      ck_assert(amped_complete_reg(&o, run, sweep) == (run % 2 == 0 ? 0.5 : 0.0));
}

/* Mean and variance of many entries of a mode. */
static void moments(const amped_complete_start *s, int mode, double *mean, double *variance) {
  enum { N = 20000, R = 4 };
  double sum = 0.0;
  double square = 0.0;
  for (uint64_t i = 0; i < N; i++) {
    const double x = amped_complete_start_entry(s, 3, R, 9, mode, i / R, (int)(i % R));
    sum += x;
    square += x * x;
  }
  *mean = sum / N;
  *variance = square / N - *mean * *mean;
}

/* Of 20000 numbers the mean is off by a deviation / 141, the variance by 1 % of it: five times
 * that. */
START_TEST(a_start_has_the_moments_of_its_kind) {
  amped_complete_start s = {.centred = true, .context = {false, false, true}, .biased = true};
  double mean = 0.0;
  double variance = 0.0;
  moments(&s, 0, &mean, &variance);
  ck_assert(fabs(mean) < 0.018 && fabs(variance - 0.25) < 0.0125);
  moments(&s, 1, &mean, &variance);
  ck_assert(fabs(mean) < 0.036 && fabs(variance - 1.0) < 0.05);
  moments(&s, 2, &mean, &variance);
  ck_assert(fabs(mean - 1.0) < 0.0036 && fabs(variance - 0.01) < 0.0005);
  s = (amped_complete_start){.positive = true, .level = 4.0};
  moments(&s, 0, &mean, &variance); /* uniform on [0, 2) */
  ck_assert(fabs(mean - 1.0) < 0.021 && fabs(variance - 1.0 / 3.0) < 0.017);
  s = (amped_complete_start){.level = 0.5};
  moments(&s, 2, &mean, &variance);
  const double deviation = 0.3 * pow(4.0, -1.0 / 6.0);
  ck_assert(fabs(mean) < 0.036 * deviation);
  ck_assert(fabs(variance / (deviation * deviation) - 1.0) < 0.05);
  s.nonnegative = 1; /* mode 0 alone */
  double least = 0.0;
  for (uint64_t i = 0; i < 1000; i++) {
    ck_assert(amped_complete_start_entry(&s, 3, 4, 9, 0, i, 1) >= 0.0);
    least = fmin(least, amped_complete_start_entry(&s, 3, 4, 9, 1, i, 1));
  }
  ck_assert(least < 0.0);
}

START_TEST(options_without_validation_choose_nothing) {
  amped_complete_options o = {.reg_count = 0};
  check_ok(amped_complete_options_check(&o));
  ck_assert(o.holdout == 0.05);
  o = (amped_complete_options){.validate = "x.tns"};
  check_ok(amped_complete_options_check(&o));
  ck_assert(o.holdout == 0.0);
  o = (amped_complete_options){.holdout_given = true};
  check_fails(AMPED_USAGE, "no entries to validate on", amped_complete_options_check(&o));
  o.reg_count = 2;
  check_fails(AMPED_USAGE, "no entries to validate on", amped_complete_options_check(&o));
  o.reg_count = 1;
  check_ok(amped_complete_options_check(&o));
}

START_TEST(implicit_fits_have_no_biases) {
  amped_complete_options o = {.implicit = 2.0};
  check_ok(amped_complete_options_check(&o));
  ck_assert(o.bias == AMPED_BIAS_NONE);
  o = (amped_complete_options){.weights = "w.tns"};
  check_ok(amped_complete_options_check(&o));
  ck_assert(o.bias == AMPED_BIAS_FULL);
}

START_TEST(ranks_make_hit_rate_and_ndcg) {
  const amped_rank_sums none = {.count = 0};
  const amped_rank_sums some = {.count = 8, .at = {1, 0, 2}};
  ck_assert(isnan(amped_rank_hit_rate(&none)) && isnan(amped_rank_ndcg(&none)));
  ck_assert(amped_rank_hit_rate(&some) == 3.0 / 8.0);
  ck_assert_double_eq_tol(amped_rank_ndcg(&some), (1.0 + 2.0 / 2.0) / 8.0, 1e-15);
}

TESTING_MAIN("complete", the_penalty_of_auto_is_held_and_then_falls, the_user_s_penalties_stay,
             a_start_has_the_moments_of_its_kind, options_without_validation_choose_nothing,
             implicit_fits_have_no_biases, ranks_make_hit_rate_and_ndcg)
