/* Factors: the factor set of all ranks is filled for a start, and copied out in file order.
 *
 * The factors of the context are in the memory of the backend, in position order, all rows on every
 * rank. A ktensor is in host memory, in file order, on rank 0 alone. All functions are collective;
 * the statuses are agreed. */
#ifndef AMPED_FACTORS_H
#define AMPED_FACTORS_H

#include "factor/context.h"
#include "tensor/ktensor.h"

/* Entry (i, r) of mode m is uniform on [0, 1): amped_random_double(seed, m, i * ncomps + r),
 * rounded to the factors' type. It is the same on any number of ranks and with every backend. */
amped_status amped_factors_random(const amped_context *context, uint64_t seed);

/* The entries of the row with this file index: [ncomps]. Called by several threads at once. */
typedef void amped_row_maker(const void *self, int mode, uint64_t index, double *row);

/* Every row is what `make` says, rounded to the factors' type. */
amped_status amped_factors_make(const amped_context *context, amped_row_maker *make,
                                const void *self);

/* Copy rank 0's `start` to all ranks; other ranks ignore theirs. Its shape is the plan's. Its
 * weights are multiplied into factor 0. */
amped_status amped_factors_put(const amped_context *context, const amped_ktensor *start);

/* Copy the factors to rank 0's `out`, which the caller has created. `out` of other ranks, and all
 * weights, stay as they are. */
amped_status amped_factors_get(const amped_context *context, amped_ktensor *out);

#endif
