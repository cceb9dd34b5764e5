/* Copy orders: the order of the nonzeros in the copy of mode 1, 2, ... of a tensor in memory that
 * is sorted by mode 0. A thread finds the next order while the caller works with the one before it.
 *
 * Calls: begin; next for every mode but the first, in turn; end. Host memory,
 * AMPED_COPY_ORDER_BYTES for each nonzero; not collective. The tensor is borrowed and must not
 * change until the end. */
#ifndef AMPED_COPY_ORDERS_H
#define AMPED_COPY_ORDERS_H

#include "tensor/sptensor.h"

#define AMPED_COPY_ORDER_BYTES 24

typedef struct amped_copy_orders amped_copy_orders;

amped_status amped_copy_orders_begin(const amped_sptensor *t, amped_copy_orders **out);
/* The next order; waits for it. It is valid until the next call. */
amped_status amped_copy_orders_next(amped_copy_orders *o, amped_order *out);
/* From now on the caller has the OpenMP threads that are not sorting; the end gives back all. */
void amped_copy_orders_share(amped_copy_orders *o);
/* NULL is allowed. */
void amped_copy_orders_end(amped_copy_orders *o);

#endif
