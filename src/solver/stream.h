/* Stream: a completion model that learns batch after batch, without the batches before.
 *
 * What the past says of a row are its equations (backend/row_fit.h), with the factors as they were
 * when its observations came. A batch, of any coordinates, is learnt so:
 *
 *   1. Modes grow to the batch's dims. A new row is its prior. One that has entries to learn is, in
 *      the growing mode, like the last row before, else its prior and a little noise; and so does
 * an old row with entries to learn that is still at its prior.
 *   2. `sweeps` times, the growing mode first, then the others in order: each row with entries
 *      solves forget^d * (its equations) + (those of its entries), where d is the number of
 *      batches since it was touched last. Other rows stay.
 *   3. With the new factors, these sums become the row's equations.
 *
 * The growing mode is the caller's or, where he names none, the first of which all entries of the
 * batch lie in new rows; there may be none. Entries whose hash says so are held out
 * (amped_held_out, of the stream's indices): they are not learnt, and tell the error.
 *
 * A model history has n in place of equations, and makes these of sums over rows
 * (stream_model.h).
 *
 * A published history has another recursion in place of 2 and 3 (stream_published.h): it learns the
 * entries outside the old box alone, and all rows change.
 *
 * Every batch is a tensor of its own, over the rows that it touches (plan/touched.h). Its rows stay
 * with their owners. Source: AMPED's own; the problem is that of cuSTC (docs/streaming.md). */
#ifndef AMPED_STREAM_H
#define AMPED_STREAM_H

#include "backend/backend.h"
#include "factor/stream_rows.h"
#include "load/input.h"
#include "solver/stream_batch.h"

/* What learning a batch tells; the same on every rank, but where it says otherwise. */
typedef struct amped_learnt {
  uint64_t learnt, held;             /* entries */
  uint64_t dropped;                  /* published: within the old box */
  uint64_t touched[AMPED_MAX_ORDER]; /* rows with entries that were learnt; published: all */
  int growing;                       /* -1: no mode */
  amped_errors before, after;        /* at all entries of the batch */
  amped_errors held_after;           /* at those that are held out, after */
  double sweep_sec;                  /* of each sweep, rows and exchange */
  double load_sec, rows_sec, exchange_sec, evaluate_sec; /* of this rank */
  amped_batch_times times;                               /* beside sweeps and errors */
  amped_sptensor held_out;                               /* rank 0: the entries; elsewhere empty */
  amped_stream_change change; /* this rank's own rows that are new, or were touched */
} amped_learnt;
void amped_learnt_free(amped_learnt *learnt);

typedef struct amped_stream {
  const amped_comm *comm;
  const amped_worker *worker; /* with a device, and neither factors nor nonzeros */
  amped_stream_rows *rows;
  const amped_state_head *head; /* of the state before the batch in hand */
  int sweeps;                   /* at least 1 */
} amped_stream;

/* Collective; the status is agreed. Learn the list of an input that is in rank 0's memory, whose
 * dims are those of the stream with it. growing: -1: none is named. Where it fails, the rows are no
 * longer those of any state. A failure within a sweep ends the job. Free *out, on failure too. */
amped_status amped_stream_learn(const amped_stream *stream, amped_input *batch, int growing,
                                amped_learnt *out);

/* Collective; the status is agreed. Errors of the rows' model at entries that rank 0 has, of
 * indices below the rows' dims; of other ranks the list is not looked at. */
amped_status amped_stream_errors(const amped_stream *stream, const amped_sptensor *entries,
                                 amped_errors *out);

#endif
