/* Own rows: a row store (backend/row_store.h) for this rank's own rows of a plan, which receives
 * their normal equations. Row i of a mode's block has number i. The store is made for one rank
 * (nranks = 1), so it counts every row as own. */
#ifndef AMPED_OWN_ROWS_H
#define AMPED_OWN_ROWS_H

#include "backend/row_store.h"
#include "factor/context.h"
#include "solver/complete/complete_options.h"

typedef struct amped_own_rows {
  const amped_row_store_ops *ops; /* NULL: nothing was made */
  amped_row_store *store;
  uint64_t *places;                     /* [most block rows] 0, 1, ... */
  uint64_t *positions[AMPED_MAX_ORDER]; /* [block rows] positions of these rows */
} amped_own_rows;

/* Length of a row's history that holds its normal equations. */
uint64_t amped_own_rows_equations(const amped_plan *plan, bool biased);

/* Adds the bytes of device and host memory that create takes on this rank. length: of a row's
 * history. */
void amped_own_rows_require(const amped_worker *worker, const amped_plan *plan, uint64_t length,
                            uint64_t *device_bytes, uint64_t *host_bytes);

/* Not collective. The worker's backend must have row stores. Rows and histories are zeros. free
 * accepts a zeroed object, and one whose creation failed. */
amped_status amped_own_rows_create(const amped_context *context, uint64_t length,
                                   amped_own_rows *out);
void amped_own_rows_free(amped_own_rows *rows);

/* Not collective. Get the histories of all modes, as before the first batch of a stream. */
amped_status amped_own_rows_histories(const amped_own_rows *rows, const amped_plan *plan,
                                      amped_row_history out[AMPED_MAX_ORDER]);

/* Collective; the status is agreed. Store the rows' normal equations as their histories: the sums
 * over all entries that are not held out, at the context's factors. The histories must have room
 * for equations. */
amped_status amped_own_rows_absorb(const amped_own_rows *rows, const amped_context *context,
                                   const amped_complete_options *options, const amped_row_fit *fit);

#endif
