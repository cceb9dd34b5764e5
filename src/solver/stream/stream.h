/* Stream: a completion model that learns batch after batch, without the earlier batches.
 *
 * A row's history is its normal equations (backend/row_fit.h), made with the factors at the time
 * when its entries came. A batch, of any coordinates, is learnt in three steps:
 *
 *   1. Modes grow to the batch's dims. A new row is its prior; with training entries in the growing
 * mode, it is a copy of the last old row before it that has learnt something, or of the first one.
 * An old row of that mode that has learnt nothing is a copy of the last row before it that has, or
 * of the first one: a header declared it, or all its entries had weight 0. Rows whose labels are
 * numbers, dates or times are in order of these, others in order of indices. The errors before
 * learning belong to this model. Then a row with training entries that has learnt nothing yet, and
 * equals its prior, gets a little noise.
 *   2. `sweeps` times, the growing mode first, then the others in order, or in a random order: each
 * row with entries solves forget^d * (its history) + (equations of its entries). d is the number of
 * batches since the row was touched last. Other rows stay unchanged.
 *   3. With the new factors, these sums become the row's history.
 *
 * The growing mode is named by the caller. If the caller names none, it is the first mode of time
 * with a new row. Else it is the first other mode in which all entries of the batch lie in rows
 * that have learnt nothing; there may be none. A mode is of time if its labels are dates, times or
 * their periods, or numbers under a name that is a word for a time. Dates come before numbers and
 * indices. Text is no order, nor are numbers of a mode whose name is no word for a time. Entries
 * are held out by the hash of their labels, or indices (amped_stream_entry_is_held). They are not
 * learnt; the error is measured at them.
 *
 * A model history keeps only n of the equations, and computes the rest from sums over rows
 * (stream_model.h).
 *
 * A published history replaces steps 2 and 3 by another recursion (stream_published.h). It learns
 * only entries outside the old box, and all rows change.
 *
 * Every batch is a tensor of its own, over the rows that it touches (plan/touched.h). Its rows stay
 * with their owners. Source: AMPED's own; the problem is cuSTC's (docs/streaming.md). */
#ifndef AMPED_STREAM_H
#define AMPED_STREAM_H

#include "backend/backend.h"
#include "factor/stream_rows.h"
#include "load/input.h"
#include "solver/stream/stream_batch.h"
#include "solver/stream/stream_entries.h"

/* Results of learning a batch. The same on every rank, unless a member's comment says otherwise. */
typedef struct amped_learnt {
  uint64_t learnt, held;             /* numbers of entries */
  uint64_t dropped;                  /* published history: number of entries in the old box */
  uint64_t touched[AMPED_MAX_ORDER]; /* rows with training entries; published history: all rows */
  int growing;                       /* growing mode; -1: none */
  uint64_t first;                    /* old rows of that mode that learn their first entries */
  uint64_t firsts[AMPED_MAX_ORDER];  /* other modes: old rows with entries that have learnt nothing
                                        before; published history: 0 */
  uint64_t like;                     /* last row of that mode that new rows, or these rows, copy */
  uint64_t likes;                    /* number of such rows */
  bool late;                         /* a new row of that mode has its label before the last learnt
                                        row, and copies an earlier one */
  int sweeps;                        /* sweeps that were made; 0 if nothing is learnt */
  amped_mode_order order;            /* order of modes in them */
  amped_errors before, after;        /* errors at all entries of the batch */
  amped_errors before_new;           /* part of before: entries with a row that is new or has learnt
                                        nothing, not counting the mode that grows */
  amped_errors before_known;         /* the other part */
  amped_errors held_after;           /* errors at held-out entries, after learning */
  double sweep_sec;                  /* this rank's mean seconds per sweep, with exchange */
  double load_sec, rows_sec, exchange_sec, evaluate_sec; /* this rank's seconds */
  amped_batch_times times;                               /* this rank's seconds outside sweeps and
                                                            errors */
  amped_sptensor held_out;                               /* rank 0: held-out entries; elsewhere
                                                            empty */
  amped_stream_change change; /* this rank's own rows that are new or touched */
} amped_learnt;
void amped_learnt_free(amped_learnt *learnt);

typedef struct amped_stream {
  const amped_comm *comm;
  const amped_worker *worker; /* has a device, but no factors and no nonzeros */
  amped_stream_rows *rows;
  const amped_state_head *head; /* head of the state before the current batch */
  int sweeps;                   /* sweeps per batch, at least 1 */
  bool random_order;            /* modes in a new random order in each sweep, by the state's seed */
  amped_stream_labels labels;   /* rank 0: the state's, and those that the batch adds */
} amped_stream;

/* Collective; the status is agreed. Learn a batch: an input whose list is in rank 0's memory. Its
 * dims are the stream's dims, batch included. growing: the growing mode; -1: the caller names none.
 * On failure the rows no longer belong to any state. A failure within a sweep ends the job. The
 * caller frees *out, also on failure. */
amped_status amped_stream_learn(const amped_stream *stream, amped_input *batch, int growing,
                                amped_learnt *out);

/* Collective; the status is agreed. Errors of the rows' model at entries in rank 0's memory, with
 * indices below the rows' dims. The lists of other ranks are ignored. */
amped_status amped_stream_errors(const amped_stream *stream, const amped_sptensor *entries,
                                 amped_errors *out);

#endif
