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

/* Every column by the power of two that takes its largest entry to between 1/2 and 1, which the
 * weight takes in (then 0 or infinite, where it goes beyond what a double holds): the same model,
 * to the bit, whose columns' squares neither overflow nor underflow. A column of zeros stays. */
void amped_ktensor_balance(amped_ktensor *k);

/* order[0 .. ncomps) = the components by descending weight; ties keep their order. */
void amped_ktensor_order(const amped_ktensor *k, int *order);

#endif
