/* Factors: fill the factor set of all ranks for a start, and copy it out in file order.
 *
 * The context's factors are in the backend's memory, in position order, with all rows on every
 * rank. A ktensor is in host memory, in file order, only on rank 0. All functions are collective;
 * the statuses are agreed. */
#ifndef AMPED_FACTORS_H
#define AMPED_FACTORS_H

#include "factor/context.h"
#include "tensor/ktensor.h"

/* Fill with random numbers. Entry (i, r) of mode m is uniform on [0, 1): amped_random_double(seed,
 * m, i * ncomps + r), rounded to the factors' type. It is the same for any number of ranks and
 * every backend. */
amped_status amped_factors_random(const amped_context *context, uint64_t seed);

/* Fill with normal numbers, of both signs. Entry (i, r) of mode m has mean 0 and variance 1:
 * amped_random_normal(seed, m, i * ncomps + r), rounded to the factors' type; if bit m of
 * nonnegative is 1, its absolute value. The host draws it, so it is the same for any number of
 * ranks and every backend. */
amped_status amped_factors_normal(const amped_context *context, uint64_t seed,
                                  uint64_t nonnegative);

/* Function that fills the row with this file index, [ncomps]. Called by several threads at once. */
typedef void amped_row_maker(const void *self, int mode, uint64_t index, double *row);

/* Fill every row with `make`, rounded to the factors' type. */
amped_status amped_factors_make(const amped_context *context, amped_row_maker *make,
                                const void *self);

/* Copy rank 0's `start` to all ranks; other ranks ignore theirs. Its shape must be the plan's. Its
 * weights are multiplied into factor 0. */
amped_status amped_factors_put(const amped_context *context, const amped_ktensor *start);

/* Copy the factors to rank 0's `out`, which the caller has created. All weights, and `out` on other
 * ranks, stay unchanged. */
amped_status amped_factors_get(const amped_context *context, amped_ktensor *out);

#endif
