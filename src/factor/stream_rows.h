/* Stream rows: all rows of a stream's model between batches, in the backend's memory
 * (backend/row_store.h). Every rank has the factors of all rows. Only a row's owner has its history
 * and the number of the batch that touched it last (plan/touched.h).
 *
 * Numbers have the state's type (state/state_file.h). Not collective. */
#ifndef AMPED_STREAM_ROWS_H
#define AMPED_STREAM_ROWS_H

#include "backend/backend.h"
#include "factor/state_rows.h"

typedef struct amped_stream_rows {
  int rank, nranks;
  int order;
  uint64_t ncomps, length; /* numbers in a row's factor and in its history */
  amped_vtype type;
  uint64_t dims[AMPED_MAX_ORDER];
  uint64_t width;                /* width of a model history's sums (state/state_file.h), otherwise
                                    0 */
  double *sums[AMPED_MAX_ORDER]; /* [width][width], in host memory on every rank */
  const amped_row_store_ops *ops;
  amped_row_store *store;
} amped_stream_rows;

/* Create rows of zeros with the head's dims, in the memory of the worker's device, which must
 * outlive them. Free with amped_stream_rows_free, which accepts a zeroed struct. */
amped_status amped_stream_rows_create(amped_stream_rows *rows, const amped_comm *comm,
                                      const amped_worker *worker, const amped_state_head *head);
void amped_stream_rows_free(amped_stream_rows *rows);

/* Bytes of device memory and host memory that the rows take on a rank, including reserve to
 * grow. */
void amped_stream_rows_require(const amped_worker *worker, const amped_state_head *head, int rank,
                               int nranks, uint64_t *device_bytes, uint64_t *host_bytes);

/* Add rows of zeros: new dims, none smaller than before. If memory is too small, dims stay. */
amped_status amped_stream_rows_grow(amped_stream_rows *rows, const uint64_t *dims);

/* Collective; the status is agreed. Which of these rows of a mode has some batch touched? On every
 * rank, bit k % 64 of word k / 64 of `bits`, which has count / 64 + 1 words, becomes 1 if row
 * indices[k] was touched, and otherwise 0. indices: ascending, the same on every rank; NULL: rows
 * 0 .. count - 1. */
amped_status amped_stream_rows_touched(const amped_comm *comm, const amped_stream_rows *rows,
                                       int mode, uint64_t count, const uint64_t *indices,
                                       uint64_t *bits);

/* Collective; the status is agreed. Which rows of a mode have learnt an entry? bits as in
 * amped_stream_rows_touched, for rows 0 .. count - 1. A batch touches the rows that it learns
 * from. A published history touches all rows; there, a row has learnt something if it differs from
 * its prior, or has a bias. */
amped_status amped_stream_rows_learnt(const amped_comm *comm, const amped_stream_rows *rows,
                                      const amped_state_head *head, int mode, uint64_t count,
                                      uint64_t *bits);

/* Store rows of a state (state_rows.h). context: an amped_stream_rows with the head's dims. */
amped_state_take amped_stream_rows_take;

/* Own rows for amped_state_rows_put: count[mode] rows with these indices. AMPED_FAILED if a history
 * is not finite. */
typedef struct amped_stream_change {
  const amped_stream_rows *rows;
  uint64_t count[AMPED_MAX_ORDER];
  uint64_t *indices[AMPED_MAX_ORDER]; /* ascending; amped_alloc'd */
} amped_stream_change;
amped_status amped_stream_change_get(void *change, int mode, uint64_t first, uint64_t count,
                                     void *factor, void *history, uint64_t *touched);
void amped_stream_change_free(amped_stream_change *change);

#endif
