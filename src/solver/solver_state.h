/* Solver state: the data, in addition to the factors, from which the next sweep begins. Host
 * memory, the same on every rank.
 *
 * A struct that amped_solver_state_create or _copy filled owns its arrays, and free frees them.
 * Other structs borrow their arrays. */
#ifndef AMPED_SOLVER_STATE_H
#define AMPED_SOLVER_STATE_H

#include <stdbool.h>

#include "base/status.h"
#include "base/types.h"
#include "factor/saved_factors.h"

typedef struct amped_solver_state {
  int order;
  int ncomps;
  uint64_t sweeps;    /* done so far */
  const char *file;   /* the checkpoint from which it was read, for messages; borrowed, or NULL */
  const char *metric; /* name of the number that sweeps improve; static text */
  double *history;    /* [sweeps] the metric */
  double *weights;    /* [ncomps] */
  /* [ncomps][ncomps] per mode, after the last sweep; all NULL if the solver keeps none */
  double *grams[AMPED_MAX_ORDER];
  /* Optional (iterate.h): the solver's own numbers, and a second set of factors, from its best
   * sweep or from the sweep before. Count 0, NULL: none. */
  uint64_t number_count;
  double *numbers;                 /* [number_count] */
  const amped_saved_factors *best; /* borrowed; not copied */
  /* Alternative to `best`: swap the second set and the current factors, on every rank. Not
   * copied. */
  amped_status (*change_places)(void *self);
  void *change_places_of;
  amped_ktensor kept; /* second set in a checkpoint, on rank 0; order 0: none */
} amped_solver_state;

amped_status amped_solver_state_create(amped_solver_state *state, int order, int ncomps,
                                       uint64_t sweeps, bool has_grams);
amped_status amped_solver_state_copy(amped_solver_state *out, const amped_solver_state *from);
void amped_solver_state_free(amped_solver_state *state);

#endif
