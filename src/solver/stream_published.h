/* Stream published: how cuSTC's Algorithm 1 learns a batch, with the denominator that it lacks. Of
 * the past it has the factors alone, and a missing cell is a zero.
 *
 * With ~A the factors before the batch, A0 their rows now, A all rows, and y the value of an entry
 * in the model's units, a mode's rows become, the others' product by Hadamard:
 *
 *     numerator    M + forget * ~A * prod(~A'^T A0')        M: MTTKRP of the batch's entries
 *     denominator  prod(A'^T A') - (1 - forget) prod(A0'^T A0')
 *
 * for rows that were there, and M over prod(A'^T A') for new ones. Entries lie outside the old box.
 * What a denominator does not resolve stays (solver/normal_equations.h). So a batch changes all
 * rows, and costs what they cost. */
#ifndef AMPED_STREAM_PUBLISHED_H
#define AMPED_STREAM_PUBLISHED_H

#include "factor/stream_rows.h"
#include "mpi/comm.h"
#include "solver/mode_update.h"

/* Bytes of host memory that learning takes on a rank, beside the rows and the batch's entries; 0
 * where the head has another history. */
uint64_t amped_stream_published_bytes(const amped_state_head *head);

/* Collective; the status is agreed. Learn all ranks' entries, of which `mine` has this rank's, as
 * batch `number`: `sweeps` times new rows, the modes in this order. The rows have the batch's dims,
 * and a start where they are new; the model has no biases. *sweep_sec: seconds of a sweep on this
 * rank, their mean. */
amped_status amped_stream_published_learn(const amped_comm *comm, const amped_state_head *head,
                                          amped_stream_rows *rows, const uint64_t *old_dims,
                                          const amped_sptensor *mine, uint64_t number, int sweeps,
                                          const int *order, amped_mode_times *times,
                                          double *sweep_sec);

#endif
