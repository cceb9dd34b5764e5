/* Stream model: what the past says of a batch's rows where a stream keeps no equations of them, but
 * each row's n alone: 4 or 8 bytes a row.
 *
 * The past of a row is taken for n entries of the model as it was before the batch, ~A, whose other
 * indices are drawn independently, index j of mode l with the share n_j / sum n. So for mode k,
 * over the other modes l, the equations of row i (backend/row_fit.h) are n times
 *
 *     H    prod E[a a^T]               g    prod E[a ~a^T] ~a_i + ~b_i h + d
 *     h    prod E[a]                   tau  prod E[~a] ~a_i + ~b_i + sum E[~b - b]
 *
 * with d = sum over l of E[(~b - b) a] times the other modes' E[a], and beside that what penalties
 * took from the row when it was fitted (backend/row_past.h). All these are parts of E[e e^T]
 * and E[e ~e^T], where e = (a, b, 1), or (a, 1) without biases. The sum S of n e e^T over all rows
 * of a mode is kept from batch to batch. A batch changes few rows, so that with d = e - ~e
 *
 *     sum n e ~e^T = S + X         X = sum over touched rows of n d ~e^T
 *     sum n e e^T  = S + X + X^T + sum over touched rows of n d d^T
 *
 * and S after the batch is the latter, and e e^T times what the rows' n grew by. All n decay by
 * forget a batch, S at once and a row's when it is touched (stream.h). So a batch costs what its
 * touched rows cost.
 *
 * Source: the recursion of cuSTC (docs/streaming.md), whose denominators are the products of grams
 * of all rows alike: n = 1, and as many entries as cells. */
#ifndef AMPED_STREAM_MODEL_H
#define AMPED_STREAM_MODEL_H

#include "backend/row_fit.h"
#include "factor/context.h"

/* Adds the bytes that a past takes, of as many rows as the plan has. */
void amped_stream_model_require(const amped_worker *worker, const amped_plan *plan,
                                uint64_t *device_bytes, uint64_t *host_bytes);

/* What a batch works with; and a first fit, which joins an empty past: S is zero. */
typedef struct amped_stream_model amped_stream_model;

/* Collective; the status is agreed. The context's factors are those before the batch. fit: its
 * penalties, and whether there are biases. pasts: of each mode's own rows, whose equations are n
 * alone; the arrays in it outlive the model. sums: S of each mode, as it counts in this batch;
 * likewise. *out is NULL on failure. */
amped_status amped_stream_model_create(const amped_context *context, const amped_row_fit *fit,
                                       const amped_row_history *pasts, double *const *sums,
                                       amped_stream_model **out);
void amped_stream_model_destroy(amped_stream_model *model); /* NULL is allowed */

/* Not collective. The history of mode's own rows, for the factors as they are: valid until the next
 * call. */
amped_status amped_stream_model_recall(amped_stream_model *model, int mode, amped_row_history *out);
/* Collective: mode's rows are new. `status` is this rank's own so far, that of the return is
 * agreed.
 */
amped_status amped_stream_model_renew(amped_stream_model *model, int mode, amped_status status);

/* Collective; the status is agreed. The batch is learnt: pasts and sums are those with it. */
amped_status amped_stream_model_absorb(amped_stream_model *model);

#endif
