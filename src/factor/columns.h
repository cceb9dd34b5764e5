/* Columns: a model whose factors are consecutive columns of the loaded factors.
 *
 * Models side by side share one set of factors, so that one pass over the tensor and one exchange
 * serve all of them. Each has a context of its own: the plan with its number of components, and a
 * view of the factors (backend.h). Its exchange and its MTTKRP
 * are common to all columns. */
#ifndef AMPED_COLUMNS_H
#define AMPED_COLUMNS_H

#include "factor/context.h"

typedef struct amped_columns {
  amped_plan
      plan; /* the whole plan's rows, and the model's number of components; borrowed arrays */
  amped_worker worker; /* the whole worker, with the view as its factors */
  amped_context context;
} amped_columns;

/* Make the columns first .. first + ncomps of the whole context a model. Their content stays. The
 * struct does not move until close, which accepts a zeroed struct. Not collective; the status is
 * this rank's own. */
amped_status amped_columns_open(const amped_context *whole, int first, int ncomps,
                                amped_columns *columns);
void amped_columns_close(amped_columns *columns);

/* After a resize of the whole context's factors: the model takes the columns from `first` on. Their
 * content is the caller's to restore. */
void amped_columns_place(amped_columns *columns, const amped_context *whole, int first);

/* Adds the bytes that such models take on this rank in addition to the factors, if the widest of
 * them has ncomps components. */
void amped_columns_require(const amped_worker *worker, const amped_plan *plan, int ncomps,
                           uint64_t *device_bytes, uint64_t *host_bytes);

#endif
