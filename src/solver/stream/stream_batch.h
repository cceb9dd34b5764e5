/* Stream batch: learns new rows and histories of the rows that a batch touches. The batch is a
 * tensor of these rows only, on all ranks, with its own plan, factors and copies. Rows keep their
 * owners. A published history takes the tensor, and learns it itself (stream_published.h). */
#ifndef AMPED_STREAM_BATCH_H
#define AMPED_STREAM_BATCH_H

#include "backend/backend.h"
#include "factor/stream_rows.h"
#include "load/list_source.h"
#include "plan/touched.h"
#include "solver/mode_order.h"
#include "solver/mode_update.h"

typedef struct amped_stream_batch amped_stream_batch;

/* This rank's seconds for a batch, without its sweeps and errors. */
typedef struct amped_batch_times {
  double entries; /* choosing and distributing the entries */
  double rows;    /* finding and numbering the touched rows */
  double plan;    /* counting the list's entries, and planning */
  double memory;  /* allocating factors and copies */
  double copies;  /* sorting and packing the copies */
  double fits;    /* preparing row fits */
  double start;   /* starting new rows, and copying entries to the backend's memory */
  double moves;   /* moving rows to the batch's factors, and back */
  double end;     /* listing changed rows, and freeing memory */
} amped_batch_times;

/* Collective; the status is agreed. Load all ranks' entries, at least one, with the stream's
 * indices and dims. mine: this rank's entries. The values in `mine`, `name` (for messages), comm,
 * worker and *times are borrowed until destroy. The worker has only a device, which also has the
 * rows. create and learn add to *times. *out is NULL on failure. */
amped_status amped_stream_batch_create(const amped_comm *comm, const amped_worker *worker,
                                       const amped_state_head *head, const amped_stream_rows *rows,
                                       const char *name, const amped_sptensor *mine,
                                       amped_batch_times *times, amped_stream_batch **out);
void amped_stream_batch_destroy(amped_stream_batch *batch); /* NULL is allowed */

/* Returns the rows of a mode that the batch touches; the same on every rank. */
const amped_touched *amped_stream_batch_touched(const amped_stream_batch *batch, int mode);

/* Positions of these rows in the batch's factors, from start on; and what MTTKRP works with.
 * Borrowed. */
const uint64_t *amped_stream_batch_positions(const amped_stream_batch *batch, int mode);
const amped_context *amped_stream_batch_context(const amped_stream_batch *batch);

/* Returns the start of a mode's rows that have learnt nothing. */
amped_row_start amped_stream_batch_start_of(const amped_state_head *head, int mode);
/* Collective; the status is agreed. Give the stream's rows, which have all rows of the batch, the
 * list of touched rows. Touched rows that have learnt nothing get their start; new rows of a
 * published history have one already. Call it before learn. */
amped_status amped_stream_batch_start(amped_stream_batch *batch, const amped_state_head *head,
                                      const amped_stream_rows *rows);

/* Collective; the status is agreed. Make new rows `sweeps` times, the modes in each sweep's
 * order. Then the
 * stream's rows and histories include the batch, as batch `number`. *sweep_sec: this rank's mean
 * seconds per sweep. A failure within a sweep ends the job. */
amped_status amped_stream_batch_learn(amped_stream_batch *batch, const amped_state_head *head,
                                      amped_stream_rows *rows, uint64_t number, int sweeps,
                                      const amped_mode_order *order, amped_mode_times *times,
                                      double *sweep_sec);

#endif
