/* Kruskal tensor: weights and factors in host memory, in file order, double precision.
 *
 * factors[m] is dims[m] x ncomps, row-major. All arrays come from amped_alloc and belong to the
 * struct. */
#ifndef AMPED_KTENSOR_H
#define AMPED_KTENSOR_H

#include "tensor/labels.h"
#include "base/status.h"
#include "base/types.h"

typedef struct amped_ktensor {
  int order;
  int ncomps;
  uint64_t dims[AMPED_MAX_ORDER];
  double *weights; /* [ncomps] */
  double *factors[AMPED_MAX_ORDER];
  amped_labels labels[AMPED_MAX_ORDER];
} amped_ktensor;

amped_status amped_ktensor_create(amped_ktensor *k, int order, const uint64_t *dims, int ncomps);
void amped_ktensor_free(amped_ktensor *k);

/* Balance: scale every column by a power of two, so that its largest entry is between 1/2 and 1.
 * The weight absorbs the factor; it becomes 0 or infinite if a double cannot hold it. The model is
 * the same to the bit, and the squares of its columns neither overflow nor underflow. A column of
 * zeros does not change. */
void amped_ktensor_balance(amped_ktensor *k);

/* Balance the columns of one mode. exponents: [ncomps], the powers of two. */
void amped_ktensor_balance_mode(amped_ktensor *k, int mode, int *exponents);

/* Normalise: scale every column to unit length; the weight absorbs the length. A column of zeros
 * does not change; its component's weight becomes 0. The model is the same except for rounding.
 * kept: bit m: columns of mode m stay as they are, and count as length 1; 0: none. lengths:
 * [order][ncomps] of the old columns; NULL: not wanted. */
void amped_ktensor_normalise(amped_ktensor *k, uint64_t kept, double *lengths);

/* Scale every column to sum 1; weights do not change. A column whose sum is 0 becomes 0. */
void amped_ktensor_sum_to_one(amped_ktensor *k);

/* order[0 .. ncomps) = the components in descending order of weight; equal weights keep their
 * order. */
void amped_ktensor_order(const amped_ktensor *k, int *order);

#endif
