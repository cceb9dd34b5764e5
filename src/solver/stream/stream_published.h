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
 * rows, so its cost grows with the number of all rows. */
#ifndef AMPED_STREAM_PUBLISHED_H
#define AMPED_STREAM_PUBLISHED_H

#include "factor/stream_rows.h"
#include "mpi/comm.h"
#include "solver/mode_order.h"
#include "solver/mode_update.h"

/* Bytes of host memory that learning takes on a rank, in addition to the rows and the batch's
 * entries; 0 if the head has another history. */
uint64_t amped_stream_published_bytes(const amped_state_head *head);

/* Collective; the status is agreed. Learn all ranks' entries as batch `number`: make new rows
 * `sweeps` times, the modes in each sweep's order. mine: this rank's entries. The rows already have
 * the batch's dims, and new rows their start. The model has no biases. *sweep_sec: this rank's mean
 * seconds per sweep. */
amped_status amped_stream_published_learn(const amped_comm *comm, const amped_state_head *head,
                                          amped_stream_rows *rows, const uint64_t *old_dims,
                                          const amped_sptensor *mine, uint64_t number, int sweeps,
                                          const amped_mode_order *order, amped_mode_times *times,
                                          double *sweep_sec);

#endif
