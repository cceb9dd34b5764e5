/* Repeats: does a coordinate list contain a coordinate twice? Most lists do not, which is found
 * without sorting them. Host memory; all OpenMP threads; not collective. */
#ifndef AMPED_REPEATS_H
#define AMPED_REPEATS_H

#include "tensor/sptensor.h"

/* False: no coordinate is repeated. True: a coordinate is repeated; or two coordinates have the
 * same hash, with a probability of nnz^2 / 2^65; or there is no memory for the search (8 bytes per
 * nonzero). */
bool amped_sptensor_may_repeat(const amped_sptensor *t);

/* Count the nonzeros that repeat the coordinate of an earlier one. If a coordinate may repeat, a
 * copy of the list is sorted: 8 x (order + 3) bytes per nonzero. */
amped_status amped_sptensor_repeats(const amped_sptensor *t, uint64_t *count);

#endif
