/* Core consistency (CORCONDIA): does a model with a diagonal core describe the tensor as well as
 * one with any core would? Bro & Kiers 2003.
 *
 * The core G = X x1 A1+ x2 A2+ ... is the best one (in least squares) for the factors as they are,
 * weights spread evenly over modes; T has ones on its diagonal and zeros elsewhere. The consistency
 * is 100 (1 - sum (G - T)^2 / R): 100 for a sound model, near or below 0 for one with too many
 * components.
 *
 * MTTKRP computes it on any backend: with columns of A_m+ (transposed) for the inputs, column c of
 * the result, times A_out+, is the fibre of G at the columns' numbers. One MTTKRP with all columns
 * gives a diagonal of R fibres; turning the columns of N - 2 modes against each other gives all:
 * R^(N-2) passes. */
#ifndef AMPED_CORCONDIA_H
#define AMPED_CORCONDIA_H

#include "factor/saved_factors.h"

/* Passes at most: 340 sweeps of a tensor of order 3. */
#define AMPED_CORCONDIA_PASSES 1024

/* R^(order - 2), UINT64_MAX where that is above the limit. */
uint64_t amped_corcondia_passes(int order, int ncomps);

/* Collective; the status is agreed. The run's factors, of unit columns, and these weights; the
 * factors are the same afterwards. *dependent: the first mode whose factor's columns are not
 * independent (fewer rows than components, collinear or zero columns), -1 where all are. */
amped_status amped_corcondia(const amped_context *context, const double *weights, double *percent,
                             int *dependent);

#endif
