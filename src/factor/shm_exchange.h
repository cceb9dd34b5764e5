/* Shared-memory exchange: factor rows pass through host memory that all ranks of a node share. Used
 * for devices whose memory MPI cannot access.
 *
 * A rank copies its own rows to the shared memory and the other ranks' rows from it, piece by
 * piece, in both directions at once. Within a node MPI sends nothing. Between nodes each rank of a
 * rail (mpi/comm.h) gathers its share of the nodes' rows; with --exchange=ring the first ranks
 * gather all, with --exchange=allgatherv MPI_Allgatherv gathers along each rail. */
#ifndef AMPED_SHM_EXCHANGE_H
#define AMPED_SHM_EXCHANGE_H

#include "backend/backend.h"
#include "mpi/comm.h"

typedef struct amped_shm_exchange amped_shm_exchange;

/* Bytes of host memory that create allocates per node. */
uint64_t amped_shm_exchange_bytes(const amped_plan *plan);

/* Collective; the status is agreed. rank_at[i] is the rank at place i of comm->ring. All arguments
 * must outlive the object. */
amped_status amped_shm_exchange_create(const amped_comm *comm, const amped_worker *worker,
                                       const amped_plan *plan, const int *rank_at,
                                       amped_shm_exchange **out);
/* Collective. */
void amped_shm_exchange_destroy(amped_shm_exchange *shm);

/* Collective: send rows first .. end of every rank's block of mode's factor to all ranks. The
 * status is this rank's own: a rank that fails exchanges like the others. */
amped_status amped_shm_exchange_rows(amped_shm_exchange *shm, int mode, uint64_t first,
                                     uint64_t end);

#endif
