/* Factors in and out of a run: random start, start from given factors, and back to file order.
 *
 * All three are collective; statuses are agreed. */
#ifndef AMPED_FACTORS_H
#define AMPED_FACTORS_H

#include "factor/context.h"
#include "tensor/ktensor.h"

/* Entry (i, r) of mode m is uniform on [0, 1): amped_random_double(seed, m, i * ncomps + r),
 * rounded to the factors' type. The same on any number of ranks and either backend. */
amped_status amped_factors_random(const amped_context *context, uint64_t seed);

/* From rank 0's `start` (ignored elsewhere): its shape is the plan's; its weights are multiplied
 * into factor 0. */
amped_status amped_factors_put(const amped_context *context, const amped_ktensor *start);

/* Into rank 0's `out`, created by the caller; untouched elsewhere. Weights are left alone. */
amped_status amped_factors_get(const amped_context *context, amped_ktensor *out);

#endif
