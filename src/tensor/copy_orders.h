/* Copy orders: the order of the nonzeros in the copies of modes 1, 2, ... of a tensor in memory,
 * sorted by mode 0. A thread finds the next order while the caller uses the previous one.
 *
 * Calls: begin; next for every mode except the first, in turn; end. Host memory,
 * AMPED_COPY_ORDER_BYTES per nonzero; not collective. The tensor is borrowed and must not change
 * until the end. */
#ifndef AMPED_COPY_ORDERS_H
#define AMPED_COPY_ORDERS_H

#include "tensor/sptensor.h"

#define AMPED_COPY_ORDER_BYTES 24

typedef struct amped_copy_orders amped_copy_orders;

amped_status amped_copy_orders_begin(const amped_sptensor *t, amped_copy_orders **out);
/* The next order; waits for it. Valid until the next call. */
amped_status amped_copy_orders_next(amped_copy_orders *o, amped_order *out);
/* Give the caller the OpenMP threads that are not sorting; the end gives back all. */
void amped_copy_orders_share(amped_copy_orders *o);
/* NULL is allowed. */
void amped_copy_orders_end(amped_copy_orders *o);

#endif
