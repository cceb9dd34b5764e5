/* Outcome: how an iterative solver ended, in words. */
#ifndef AMPED_OUTCOME_H
#define AMPED_OUTCOME_H

#include "solver/iterate.h"

typedef struct amped_outcome {
  char text[256];
} amped_outcome;

/* "fit 0.51234567 after 12 sweeps (fit changed by 9.60e-06 < 1e-05 = --tol)". tol, goal: of the
 * run (iterate.h); 0: not mentioned. */
amped_outcome amped_outcome_of(const amped_solver_result *result, double tol, double goal);

/* Add facts of a result. how: method of accelerated steps; NULL: the solver's own steps. */
void amped_outcome_steps(amped_facts *facts, const char *how, double accepted, double refused);
/* passes: over a dense tensor, in this run, without those for fits alone, which result->residuals
 * counts. rate: passes of a sweep or epoch, and its name; NULL: left out. */
void amped_outcome_passes(amped_facts *facts, const amped_solver_result *result, double passes,
                          const char *name, double rate);

#endif
