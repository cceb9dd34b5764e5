/* Stream published: learns a batch like cuSTC's Algorithm 1, with the denominator that is missing
 * there. The only history is the factors, and a missing cell counts as zero.
 *
 * A mode's old rows become numerator / denominator. ~A: the factors before the batch. A0: the
 * current values of their rows. A: all rows. prod: the Hadamard product over the other modes.
 *
 *     numerator    M + forget * ~A * prod(~A'^T A0')        M: MTTKRP of the batch's entries,
 *     denominator  prod(A'^T A') - (1 - forget) prod(A0'^T A0')           in the model's units
 *
 * New rows become M / prod(A'^T A'). Entries lie outside the old box. The part of a row that a
 * denominator does not resolve stays unchanged (solver/normal_equations.h). A batch changes all
 * rows, so its cost grows with the number of all rows.
 *
 * M is the MTTKRP of the batch's tensor, on the backend. All else is dense work on all rows: on the
 * host, on all cores. The number of threads does not change the results. */
#ifndef AMPED_STREAM_PUBLISHED_H
#define AMPED_STREAM_PUBLISHED_H

#include "factor/stream_rows.h"
#include "solver/stream/stream_batch.h"

/* Bytes of host memory that learning takes on a rank, in addition to the rows and the batch's
 * entries; 0 if the head has another history. */
uint64_t amped_stream_published_bytes(const amped_state_head *head);

/* Collective; the status is agreed. Learn a batch as number `number`: make new rows `sweeps` times,
 * the modes in each sweep's order. The rows already have the batch's dims, new rows their start,
 * and the batch was shown to them (amped_stream_batch_start). The model has no biases. *sweep_sec:
 * this rank's mean seconds per sweep. */
amped_status amped_stream_published_learn(const amped_stream_batch *batch,
                                          const amped_state_head *head, amped_stream_rows *rows,
                                          const uint64_t *old_dims, uint64_t number, int sweeps,
                                          const amped_mode_order *order, amped_mode_times *times,
                                          double *sweep_sec);

#endif
