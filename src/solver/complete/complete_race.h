/* Race: runs of a search that cannot give its best sweep any more end early.
 *
 * All decisions follow from errors at the validation entries, which are the same on every rank. A
 * run's low is its lowest error so far. The best run is the one before with the lowest error.
 *
 * - behind: the low is not below the best run's error, and its gain in the last sweep is too small.
 *   At this gain the low would not reach the best error by the best run's best sweep, nor in
 *   `patience` more sweeps. A sweep after which the best run had too small a gain itself decides
 *   nothing, unless this run overfits: its training error is below the best run's after that sweep,
 *   by AMPED_RACE_OVERFITS of it.
 *
 * - vanished: the components are zero. In the last sweep the training error has stayed the same, up
 *   to `tol`, and the low is not below the error without components. The caller asks only if
 *   another run begins at half the penalty or more, but lower.
 *
 * Nobody is behind a best run that is not better than a model without components: its components
 * have vanished, and runs whose components grow may begin with higher errors. Better means by
 * AMPED_RACE_LIVE of the error without components. */
#ifndef AMPED_COMPLETE_RACE_H
#define AMPED_COMPLETE_RACE_H

#include <stdbool.h>
#include <stdint.h>

/* Share of the error without components by which a model with components is better. */
#define AMPED_RACE_LIVE 1e-3

/* A run that overfits has a training error below the best run's by this share of it. */
#define AMPED_RACE_OVERFITS 1e-2

/* More reasons to stop than the loop has. */
#define AMPED_RACE_BEHIND "behind"
#define AMPED_RACE_VANISHED "vanished"

/* The best of the runs before the current one. */
typedef struct amped_race_best {
  bool found;
  double error;
  uint64_t sweep; /* its number in its run, from 1 */
  /* [sweep] or more: its errors at the validation and at the training entries, by sweep. training
   * is NULL if errors are scores. */
  const double *errors, *training;
} amped_race_best;

/* The rules, and what they are about. */
typedef struct amped_race {
  double zero; /* error without components */
  bool higher; /* errors are scores in [0, 1], of which the highest is the best; a score s is the
                  error 1 - s */
  int patience;
  double tol;
  amped_race_best best;
} amped_race;

/* errors, training: [sweeps] of the current run. False before the second sweep. */
bool amped_race_is_behind(const amped_race *race, const double *errors, const double *training,
                          uint64_t sweeps);
bool amped_race_has_vanished(const amped_race *race, const double *errors, const double *training,
                             uint64_t sweeps);

#endif
