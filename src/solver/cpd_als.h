/* CP decomposition by alternating least squares: Kolda & Bader 2009, figure 3.3.
 *
 * For each mode: MTTKRP of own rows, made whole where iDps are split; times the inverse of the
 * Hadamard product of the other modes' grams; gram of the result, summed over ranks; columns to
 * unit length, lengths to weights; exchange of rows. After the last mode the fit 1 - |X - M| / |X|
 * follows from the last MTTKRP and the grams, in double, without forming M. */
#ifndef AMPED_CPD_ALS_H
#define AMPED_CPD_ALS_H

#include "solver/solver_state.h"
#include "factor/factors.h"

/* Wall seconds of this rank in one sweep. */
typedef struct amped_sweep_times {
  double mttkrp, copy, solve, exchange, total;
} amped_sweep_times;

typedef struct amped_sweep {
  uint64_t number; /* from 1 */
  double fit;
  double change; /* of fit; NaN in the first sweep */
  double noise;  /* what rounding does to fit, so that smaller changes mean nothing */
  amped_sweep_times times;
  const amped_solver_state *state; /* after this sweep */
} amped_sweep;

typedef struct amped_als_options {
  uint64_t iters; /* sweeps at most */
  double tol;     /* stop when |change of fit| < tol; 0: never */
  /* Go on from this state, and the factors that belong to it; NULL: from the beginning. */
  const amped_solver_state *start;
  bool *noise_told; /* becomes true with the warning of a tol below the fit's noise, which comes
                       once */
  /* Called on every rank after each sweep; collective, the status is agreed. NULL: not. */
  amped_status (*after_sweep)(void *context, const amped_sweep *sweep);
  void *context;
} amped_als_options;

typedef struct amped_als_result {
  double *weights; /* [ncomps] */
  double *fit;     /* [sweeps] */
  uint64_t sweeps;
  uint64_t earlier;        /* of these sweeps, those of options->start */
  const char *stop_reason; /* "tolerance" or "iterations" */
  bool truncated;          /* a pseudo-inverse was needed */
  amped_sweep_times times; /* sums over the sweeps of this run */
} amped_als_result;

/* Collective; the status is agreed, that of after_sweep is passed on. Starts from the factors that
 * the context holds. */
amped_status amped_cpd_als(const amped_context *context, const amped_als_options *options,
                           amped_als_result *result);
void amped_als_result_free(amped_als_result *result);

#endif
