/* Repeats: may a coordinate list name some coordinate twice? Most lists do not, and are found so
 * without sorting them. Host memory; all OpenMP threads; not collective. */
#ifndef AMPED_REPEATS_H
#define AMPED_REPEATS_H

#include "tensor/sptensor.h"

/* False: no coordinate comes twice. True: some coordinate does; or, with a chance of nnz^2 / 2^65,
 * two coordinates have the same hash; or there is no memory to look (8 bytes a nonzero). */
bool amped_sptensor_may_repeat(const amped_sptensor *t);

#endif
