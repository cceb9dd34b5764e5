/* Overflow: a sink for nonzeros that do not fit in a reader's memory. */
#ifndef AMPED_OVERFLOW_H
#define AMPED_OVERFLOW_H

#include "tensor/copy_orders.h"
#include "tensor/sptensor.h"

typedef struct amped_overflow {
  uint64_t memory; /* bytes for nonzeros, and for sorting them and their copies */
  /* Take all nonzeros of t, in the order of reading, and leave t with nnz 0. `fraction` of the
   * input has been read, from 0 (unknown) to 1. The last nonzeros are never taken: a reader ends
   * with some in memory. */
  amped_status (*take)(void *context, amped_sptensor *t, double fraction);
  void *context;
} amped_overflow;

/* Nonzeros of a tensor of this order that fit in `memory` bytes, together with the orders of their
 * copies, which take more memory than sorting; at least 1. */
static inline uint64_t amped_overflow_most(uint64_t memory, int order) {
  uint64_t most = memory / (8 * ((uint64_t)order + 1) + AMPED_COPY_ORDER_BYTES);
  return most > 0 ? most : 1;
}

#endif
