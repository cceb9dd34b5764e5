/* Stream model: the history of a batch's rows if a stream keeps each row's n only, and no
 * equations: 4 or 8 bytes per row.
 *
 * The history of a row stands for n entries of ~A, the model as it was before the batch. Their
 * other indices are drawn independently: index j of mode l with probability n_j / sum n. For mode
 * k, over the other modes l, the equations of row i (backend/row_fit.h) are therefore n times
 *
 *     H    prod E[a a^T]               g    prod E[a ~a^T] ~a_i + ~b_i h + d
 *     h    prod E[a]                   tau  prod E[~a] ~a_i + ~b_i + sum E[~b - b]
 *
 * with d = sum over l of E[(~b - b) a] times the other modes' E[a]. The history also includes the
 * amount by which penalties shrank the row when it was fitted (backend/row_history.h). All these
 * terms are parts of E[e e^T] and E[e ~e^T], with e = (a, b, 1), or (a, 1) without biases. The sum
 * S of n e e^T over all rows of a mode is kept from batch to batch. A batch changes few rows, so
 * with d = e - ~e
 *
 *     sum n e ~e^T = S + X         X = sum over touched rows of n d ~e^T
 *     sum n e e^T  = S + X + X^T + sum over touched rows of n d d^T
 *
 * After the batch, S is the second sum, plus e e^T times the increase of each row's n. All n decay
 * by `forget` per batch: S at once, a row's n when the row is touched (stream.h). So the cost of a
 * batch depends only on its touched rows.
 *
 * Source: the recursion of cuSTC (docs/streaming.md). Its denominators are products of grams in
 * which all rows count alike: n = 1, as if every cell were an entry. */
#ifndef AMPED_STREAM_MODEL_H
#define AMPED_STREAM_MODEL_H

#include "backend/row_fit.h"
#include "factor/context.h"

/* Adds the bytes that a model takes on this rank, for the plan's rows. */
void amped_stream_model_require(const amped_worker *worker, const amped_plan *plan,
                                uint64_t *device_bytes, uint64_t *host_bytes);

/* Workspace for a batch. A first fit uses it with an empty history: S is zero. */
typedef struct amped_stream_model amped_stream_model;

/* Collective; the status is agreed. The context has the factors before the batch. fit: penalties,
 * and whether there are biases. The histories of each mode's own rows have n as their only number;
 * their arrays must outlive the model. sums: S of each mode, decayed for this batch; it must also
 * outlive the model. *out is NULL on failure. */
amped_status amped_stream_model_create(const amped_context *context, const amped_row_fit *fit,
                                       const amped_row_history *histories, double *const *sums,
                                       amped_stream_model **out);
void amped_stream_model_destroy(amped_stream_model *model); /* NULL is allowed */

/* Not collective. *out = history of mode's own rows, for the current factors. It is valid until the
 * next call. */
amped_status amped_stream_model_recall(amped_stream_model *model, int mode, amped_row_history *out);
/* Collective. Update the sums when mode's rows are new. status: this rank's own so far. The
 * returned status is agreed. */
amped_status amped_stream_model_renew(amped_stream_model *model, int mode, amped_status status);

/* Collective; the status is agreed. Add the learnt batch to the histories and sums. */
amped_status amped_stream_model_absorb(amped_stream_model *model);

#endif
