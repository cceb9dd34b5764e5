/* Completion by stochastic gradient descent over strata.
 *
 * An epoch has one stratum per mode, in the sweep's order of modes. In a mode's stratum its rows
 * move, each over its own nonzeros (row_steps.h), and all other modes stay fixed. Therefore the
 * blocks of a stratum, which are rows and pieces of rows, share no row that moves. They need no
 * locks on any number of ranks, threads and thread blocks. Runs on equally many ranks have the same
 * bits. New rows are exchanged as in ALS.
 *
 * Bold driver (Battiti 1989; for factors: Gemulla, Nijkamp, Haas, Sismanis, "Large-scale matrix
 * factorization with distributed stochastic gradient descent", 2011): if an epoch does not raise
 * the objective, the next step is 1.05 times as long. Otherwise the epoch is undone and the step is
 * halved. Therefore the objective never rises while the penalty stays the same.
 *
 * A run that does not go on from a checkpoint begins with sweeps of ALS. From small random rows the
 * penalty can outweigh all gradients: then steps shrink a component, or all of them, to zeros,
 * which no step leaves. */
#ifndef AMPED_COMPLETE_SGD_H
#define AMPED_COMPLETE_SGD_H

#include "solver/complete/complete_method.h"

/* Step of the first epoch, relative to 1 / (curvature of a nonzero); and factors of the step after
 * an epoch that is kept, and after one that is undone. */
#define AMPED_SGD_FIRST 1.0
#define AMPED_SGD_LONGER 1.05
#define AMPED_SGD_SHORTER 0.5
/* Sweeps of ALS before the first epoch. */
#define AMPED_SGD_ALS_SWEEPS 3

extern const amped_complete_method amped_complete_sgd;

#endif
