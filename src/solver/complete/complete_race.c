/* Race: the rules. */
#include "solver/complete/complete_race.h"

#include <math.h>
#include <stddef.h>

/* Returns the error that a number stands for. */
static double error_of(const amped_race *r, double number) {
  return r->higher ? 1.0 - number : number;
}

static bool is_live(const amped_race *r, double error) {
  return error < error_of(r, r->zero) * (1.0 - AMPED_RACE_LIVE);
}

static bool has_rival(const amped_race *r) {
  return r->best.found && is_live(r, error_of(r, r->best.error));
}

static double low_of(const amped_race *r, const double *errors, uint64_t sweeps) {
  double low = INFINITY;
  for (uint64_t i = 0; i < sweeps; i++)
    low = fmin(low, error_of(r, errors[i]));
  return low;
}

/* Sweeps that the run may still need to reach the best one. */
static double sweeps_left(const amped_race *r, uint64_t sweeps) {
  return fmax(r->patience, (double)r->best.sweep - (double)sweeps);
}

/* Would a run with these errors not reach the best run's error, at its present gain? */
static bool falls_short(const amped_race *r, const double *errors, uint64_t sweeps) {
  const double low = low_of(r, errors, sweeps);
  const double gain = low_of(r, errors, sweeps - 1) - low;
  return low - gain * sweeps_left(r, sweeps) >= error_of(r, r->best.error);
}

/* Would the best run, too, have seemed to fall short after these sweeps? */
static bool is_too_early(const amped_race *r, const double *training, uint64_t sweeps) {
  const uint64_t last = sweeps - 1;
  return sweeps < r->best.sweep && falls_short(r, r->best.errors, sweeps) &&
         (r->best.training == NULL ||
          training[last] >= (1.0 - AMPED_RACE_OVERFITS) * r->best.training[last]);
}

bool amped_race_is_behind(const amped_race *r, const double *errors, const double *training,
                          uint64_t sweeps) {
  return has_rival(r) && sweeps > 1 && low_of(r, errors, sweeps) >= error_of(r, r->best.error) &&
         falls_short(r, errors, sweeps) && !is_too_early(r, training, sweeps);
}

bool amped_race_has_vanished(const amped_race *r, const double *errors, const double *training,
                             uint64_t sweeps) {
  if (sweeps < 2 || is_live(r, low_of(r, errors, sweeps)))
    return false;
  const double before = training[sweeps - 2];
  return fabs(training[sweeps - 1] - before) <= r->tol * before;
}
