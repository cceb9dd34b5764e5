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

/* Collective; the status is agreed. Loads rank 0's list of at least one entry, in the stream's
 * indices, which is handed over, even on failure; `list` of other ranks is not looked at. `name`,
 * for messages, comm and worker are borrowed until destroy. The worker has a device alone. *out is
 * NULL on failure. */
amped_status amped_stream_batch_create(const amped_comm *comm, const amped_worker *worker,
                                       const amped_state_head *head, const char *name,
                                       amped_sptensor *list, amped_stream_batch **out);
void amped_stream_batch_destroy(amped_stream_batch *batch); /* NULL is allowed */

/* The rows of a mode that the batch touches; the same on every rank. */
const amped_touched *amped_stream_batch_touched(const amped_stream_batch *batch, int mode);

/* Collective; the status is agreed. `sweeps` times new rows, the modes in this order; then the rows
 * and their histories are those of a stream that has learnt the batch as its `number`-th. A failure
 * within a sweep ends the job. */
amped_status amped_stream_batch_learn(amped_stream_batch *batch, const amped_state_head *head,
                                      amped_stream_rows *rows, uint64_t number, int sweeps,
                                      const int *order, amped_mode_times *times);

#endif
