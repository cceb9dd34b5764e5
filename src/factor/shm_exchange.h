/* Stage: memory that all ranks of a node share, through which factor rows pass where MPI does not
 * take them from the device.
 *
 * A rank copies its own rows to the stage and the others' rows from it, piece by piece, both at
 * once; between the ranks of a node MPI moves nothing. Between nodes the first rank of each
 * gathers what the others staged. */
#ifndef AMPED_SHM_EXCHANGE_H
#define AMPED_SHM_EXCHANGE_H

#include "backend/backend.h"
#include "mpi/comm.h"

typedef struct amped_shm_exchange amped_shm_exchange;

/* Bytes of memory that a node's stage takes. */
uint64_t amped_shm_exchange_bytes(const amped_plan *plan);

/* Collective; the status is agreed. rank_at[i] is the rank at place i of comm->ring. All arguments
 * outlive the stage. */
amped_status amped_shm_exchange_create(const amped_comm *comm, const amped_worker *worker,
                                       const amped_plan *plan, const int *rank_at,
                                       amped_shm_exchange **out);
/* Collective. */
void amped_shm_exchange_destroy(amped_shm_exchange *stage);

/* Collective: rows first .. end of every rank's block of mode's factor reach all ranks. A failure
 * of this rank is returned while others may wait for it: the caller ends the job. */
amped_status amped_shm_exchange_rows(amped_shm_exchange *stage, int mode, uint64_t first,
                                     uint64_t end);

#endif
