/* Stream batch: what a batch of a stream teaches the rows that it touches. A tensor of these rows
 * alone, on all ranks, with a plan, factors and copies of its own; rows keep their owners. */
#ifndef AMPED_STREAM_BATCH_H
#define AMPED_STREAM_BATCH_H

#include "backend/backend.h"
#include "factor/stream_rows.h"
#include "load/list_source.h"
#include "plan/touched.h"
#include "solver/mode_update.h"

typedef struct amped_stream_batch amped_stream_batch;

/* Seconds of a batch beside its sweeps and errors, on this rank. */
typedef struct amped_batch_times {
  double entries; /* taken, and dealt for errors */
  double rows;    /* that the entries touch: found and numbered */
  double plan;    /* counts of the list, and the plan */
  double memory;  /* for factors and copies */
  double copies;  /* sorted and packed */
  double fits;    /* what row fits take beside them */
  double start;   /* new rows, and entries in the backend's memory */
  double moves;   /* of rows to the batch's factors, and back */
  double end;     /* what changed is listed, and memory freed */
} amped_batch_times;

/* Collective; the status is agreed. Loads all ranks' entries, at least one, in the stream's indices
 * and dims, of which `mine` has this rank's. Its values, `name`, for messages, comm and worker are
 * borrowed until destroy. The worker has a device alone, which has the rows, too. Adds to
 * *times, as learn does, which is borrowed until destroy. *out is NULL on failure. */
amped_status amped_stream_batch_create(const amped_comm *comm, const amped_worker *worker,
                                       const amped_state_head *head, const amped_stream_rows *rows,
                                       const char *name, const amped_sptensor *mine,
                                       amped_batch_times *times, amped_stream_batch **out);
void amped_stream_batch_destroy(amped_stream_batch *batch); /* NULL is allowed */

/* The rows of a mode that the batch touches; the same on every rank. */
const amped_touched *amped_stream_batch_touched(const amped_stream_batch *batch, int mode);

/* How a row of a mode starts that has learnt nothing. */
amped_row_start amped_stream_batch_start_of(const amped_state_head *head, int mode);
/* Rows that the batch touches and that have learnt nothing get their start. Before it is learnt,
 * and once all its rows are there. */
amped_status amped_stream_batch_start(amped_stream_batch *batch, const amped_state_head *head,
                                      const amped_stream_rows *rows);

/* Collective; the status is agreed. `sweeps` times new rows, the modes in this order; then the rows
 * and their histories are those of a stream that has learnt the batch as its `number`-th.
 * *sweep_sec: seconds of a sweep on this rank, their mean. A failure within a sweep ends the job.
 */
amped_status amped_stream_batch_learn(amped_stream_batch *batch, const amped_state_head *head,
                                      amped_stream_rows *rows, uint64_t number, int sweeps,
                                      const int *order, amped_mode_times *times, double *sweep_sec);

#endif
