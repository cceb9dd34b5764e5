/* Core consistency (CORCONDIA): does a model with a diagonal core describe the tensor as well as
 * one with any core would? Bro & Kiers 2003.
 *
 * The core G = X x1 A1+ x2 A2+ ... is the best core in least squares for the given factors, with
 * weights spread evenly over modes. T has ones on its diagonal and zeros elsewhere. The consistency
 * is 100 (1 - sum (G - T)^2 / R). It is 100 for a sound model. It is near or below 0 for a model
 * with too many components.
 *
 * MTTKRP computes G on any backend. Its inputs are columns of A_m+ (transposed). Column c of the
 * result, times A_out+, is the fibre of G at the numbers of these columns. One MTTKRP gives a
 * diagonal of R fibres. Turning the columns of N - 2 modes gives all fibres, in R^(N-2) passes. */
#ifndef AMPED_CORCONDIA_H
#define AMPED_CORCONDIA_H

#include "factor/saved_factors.h"

/* Maximum number of passes: the work of 340 sweeps of a tensor of order 3. */
#define AMPED_CORCONDIA_PASSES 1024

/* R^(order - 2), or UINT64_MAX if it is above the limit. */
uint64_t amped_corcondia_passes(int order, int ncomps);

/* Collective; the status is agreed. *percent = core consistency of the context's factors, which
 * have unit columns, with these weights. The factors are the same afterwards. *dependent = the
 * first mode whose columns are linearly dependent (fewer rows than components, collinear or zero
 * columns), or -1. */
amped_status amped_corcondia(const amped_context *context, const double *weights, double *percent,
                             int *dependent);

/* Writes the text for the user to the caller's buffer, and returns the buffer: "98.2 %", or "-" for
 * NaN, which means not computed. Values below -100 give "< -100 %", because all of them mean the
 * same: too many components. */
#define AMPED_CORCONDIA_TEXT 32
const char *amped_corcondia_text(char *buffer, double percent);

#endif
