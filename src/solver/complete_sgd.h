/* Completion by stochastic gradient descent over strata.
 *
 * An epoch has a stratum for every mode, in the order of the sweep. In that of a mode its rows
 * move, each over its own nonzeros (row_steps.h), and all other modes are frozen. So the blocks of
 * a stratum, which are rows and pieces of rows, share no row that moves; they need no locks on any
 * number of ranks, threads and thread blocks, and repeat their bits on as many ranks. New rows are
 * exchanged as those of ALS.
 *
 * Bold driver (Battiti 1989; for factors: Gemulla, Nijkamp, Haas, Sismanis, "Large-scale matrix
 * factorization with distributed stochastic gradient descent", 2011): where an epoch lowered the
 * objective, the next step is 1.05 times as long. Else the epoch is undone and the step is halved.
 * So the objective never rises as long as the penalty stays the same. */
#ifndef AMPED_COMPLETE_SGD_H
#define AMPED_COMPLETE_SGD_H

#include "solver/complete_method.h"

/* Of the first epoch, in units of a nonzero's curvature; what becomes of it. */
#define AMPED_SGD_FIRST 1.0
#define AMPED_SGD_LONGER 1.05
#define AMPED_SGD_SHORTER 0.5

extern const amped_complete_method amped_complete_sgd;

#endif
