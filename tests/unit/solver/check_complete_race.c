/* The race of a search: runs that are behind, and runs whose components have vanished. */
#include <math.h>

#include "solver/complete/complete_race.h"
#include "tests/lib/testing.h"

/* The best run: an error of 0.8 after 6 sweeps. */
static const double best_errors[] = {1.0, 0.94, 0.88, 0.85, 0.83, 0.8, 0.81};
static const double best_training[] = {1.0, 0.95, 0.9, 0.85, 0.8, 0.75, 0.7};

static amped_race race(void) {
  return (amped_race){.zero = 1.0,
                      .patience = 2,
                      .tol = 1e-4,
                      .best = {.found = true,
                               .error = 0.8,
                               .sweep = 6,
                               .errors = best_errors,
                               .training = best_training}};
}

START_TEST(a_run_that_gains_too_little_is_behind) {
  const amped_race r = race();
  const double slow[] = {1.0, 0.99, 0.98, 0.97};
  const double fast[] = {1.0, 0.95, 0.9, 0.87};
  const double rising[] = {0.9, 0.95, 0.99, 1.1};
  const double training[] = {1.0, 0.96, 0.91, 0.86};
  ck_assert(!amped_race_is_behind(&r, slow, training, 1)); /* too few sweeps */
  ck_assert(amped_race_is_behind(&r, slow, training, 2));  /* 0.99 - 4 * 0.01 */
  ck_assert(!amped_race_is_behind(&r, fast, training, 3)); /* 0.9 - 3 * 0.05 */
  ck_assert(amped_race_is_behind(&r, rising, training, 4));
}

/* At sweep 3 the best run is behind its own error, as it gains only later. */
START_TEST(nothing_is_said_where_the_best_run_would_be_behind) {
  const double late[] = {1.0, 0.999, 0.998, 0.89, 0.85, 0.8};
  const double slow[] = {1.0, 0.999, 0.998, 0.997};
  const double training[] = {1.0, 0.95, 0.9, 0.88};
  const double overfitting[] = {1.0, 0.8, 0.7, 0.6};
  amped_race r = race();
  r.best.errors = late;
  ck_assert(!amped_race_is_behind(&r, slow, training, 3));
  ck_assert(amped_race_is_behind(&r, slow, overfitting, 3));
  ck_assert(amped_race_is_behind(&r, slow, training, 4)); /* 0.89 - 2 * 0.108 is enough */
}

START_TEST(scores_are_compared_the_other_way_round) {
  const double best[] = {0.0, 0.06, 0.12, 0.15, 0.17, 0.2, 0.19};
  const double slow[] = {0.0, 0.01, 0.02, 0.03};
  const double fast[] = {0.0, 0.05, 0.1, 0.13};
  const double training[] = {1.0, 0.96, 0.91, 0.86};
  amped_race r = race();
  r.zero = 0.0;
  r.higher = true;
  r.best.error = 0.2;
  r.best.errors = best;
  r.best.training = NULL;
  ck_assert(amped_race_is_behind(&r, slow, training, 2));
  ck_assert(!amped_race_is_behind(&r, fast, training, 3));
  r.best.error = 0.0; /* ranks nothing */
  ck_assert(!amped_race_is_behind(&r, slow, training, 2));
}

START_TEST(nobody_is_behind_a_model_of_no_use) {
  const double flat[] = {1.0, 1.0, 1.0};
  const double training[] = {1.0, 1.0, 1.0};
  amped_race r = race();
  r.best.error = 0.9995; /* components that improve the error by less than a thousandth */
  ck_assert(!amped_race_is_behind(&r, flat, training, 3));
  r = race();
  r.best.found = false;
  ck_assert(!amped_race_is_behind(&r, flat, training, 3));
  r = race();
  r.zero = (double)NAN; /* unknown */
  ck_assert(!amped_race_is_behind(&r, flat, training, 3));
}

START_TEST(a_run_whose_components_are_zero_has_vanished) {
  const amped_race r = race();
  const double zero[] = {1.01, 1.0, 0.9995, 0.9995};
  const double alive[] = {1.01, 1.0, 0.998, 1.0};
  const double still[] = {0.9, 0.85, 0.85005, 0.85};
  const double moving[] = {0.9, 0.85, 0.84, 0.83};
  ck_assert(amped_race_has_vanished(&r, zero, still, 4));
  ck_assert(!amped_race_has_vanished(&r, zero, still, 1)); /* too few sweeps */
  ck_assert(!amped_race_has_vanished(&r, zero, still, 2));
  ck_assert(!amped_race_has_vanished(&r, zero, moving, 4));
  ck_assert(!amped_race_has_vanished(&r, alive, still, 4));
}

TESTING_MAIN("complete_race", a_run_that_gains_too_little_is_behind,
             nothing_is_said_where_the_best_run_would_be_behind, nobody_is_behind_a_model_of_no_use,
             scores_are_compared_the_other_way_round, a_run_whose_components_are_zero_has_vanished)
