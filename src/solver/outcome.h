/* Outcome: how an iterative solver ended, in words. */
#ifndef AMPED_OUTCOME_H
#define AMPED_OUTCOME_H

#include "solver/iterate.h"

typedef struct amped_outcome {
  char text[192];
} amped_outcome;

/* "fit 0.51234567 after 12 sweeps (fit changed by 9.60e-06 < 1e-05 = --tol)". */
amped_outcome amped_outcome_of(const amped_solver_result *result, double tol);

#endif
