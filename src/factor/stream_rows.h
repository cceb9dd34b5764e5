/* Stream rows: all rows of a stream's model, between its batches, in the backend's memory
 * (backend/row_store.h). Every rank has the factors of all rows; a row's history and the batch that
 * touched it last are with its owner alone (plan/touched.h).
 *
 * Numbers are of the state's type (hdf5/state_file.h). Not collective. */
#ifndef AMPED_STREAM_ROWS_H
#define AMPED_STREAM_ROWS_H

#include "backend/backend.h"
#include "factor/state_rows.h"

typedef struct amped_stream_rows {
  int rank, nranks;
  int order;
  uint64_t ncomps, length; /* numbers of a row's factor, and of its history */
  amped_vtype type;
  uint64_t dims[AMPED_MAX_ORDER];
  uint64_t width;                /* of a model history's sums (hdf5/state_file.h); else 0 */
  double *sums[AMPED_MAX_ORDER]; /* [width][width], on every rank, in host memory */
  const amped_row_store_ops *ops;
  amped_row_store *store;
} amped_stream_rows;

/* Rows of zeros, of the head's dims, in the memory of the worker's device, which outlives them.
 * Free with the second, which takes a zeroed struct, too. */
amped_status amped_stream_rows_create(amped_stream_rows *rows, const amped_comm *comm,
                                      const amped_worker *worker, const amped_state_head *head);
void amped_stream_rows_free(amped_stream_rows *rows);

/* Bytes that this takes on a rank, with room to grow: of the device's memory and of the host's. */
void amped_stream_rows_require(const amped_worker *worker, const amped_state_head *head, int rank,
                               int nranks, uint64_t *device_bytes, uint64_t *host_bytes);

/* More rows, of zeros: new dims, none smaller. Where memory is short, dims stay. */
amped_status amped_stream_rows_grow(amped_stream_rows *rows, const uint64_t *dims);

/* For state_rows.h: context is the rows, which have the head's dims. */
amped_state_take amped_stream_rows_take;

/* Own rows for amped_state_rows_put: those of `indices`, of which there are count[mode].
 * AMPED_FAILED where a history is not finite. */
typedef struct amped_stream_change {
  const amped_stream_rows *rows;
  uint64_t count[AMPED_MAX_ORDER];
  uint64_t *indices[AMPED_MAX_ORDER]; /* ascending; amped_alloc'd */
} amped_stream_change;
amped_status amped_stream_change_get(void *change, int mode, uint64_t first, uint64_t count,
                                     void *factor, void *history, uint64_t *touched);
void amped_stream_change_free(amped_stream_change *change);

#endif
