/* Exchange of updated rows: an all-gather, in place, in position order, so that nothing is
 * unpacked. AMPED, Algorithm 1 line 10.
 *
 * It works on the backend's factors themselves (allgather.h) where they are host memory or where
 * MPI takes device pointers, and through host memory that a node's ranks share (stage.h) otherwise;
 * so do small messages of many ranks on devices, which their latency would hold up. Blocks are even
 * (the plan pads them). Ranks follow each other node by node, so that a node's rows enter it once.
 * Nothing is left to MPI's settings. Alone, nothing moves. Before it, right after MTTKRP, the parts
 * of rows that several ranks worked on are added up (partial.h). */
#ifndef AMPED_EXCHANGE_H
#define AMPED_EXCHANGE_H

#include "backend/backend.h"
#include "mpi/comm.h"

typedef struct amped_exchange amped_exchange;

/* Collective; the status is agreed. comm, worker and plan outlive the exchange. */
amped_status amped_exchange_create(const amped_comm *comm, const amped_worker *worker,
                                   const amped_plan *plan, amped_exchange **out);
/* Collective. */
void amped_exchange_destroy(amped_exchange *exchange);

/* Static text. */
const char *amped_exchange_describe(const amped_exchange *exchange);

/* Bytes of host memory that create will take on this rank. */
uint64_t amped_exchange_host_bytes(const amped_comm *comm, const amped_backend *backend,
                                   const amped_plan *plan);

/* Collective, between MTTKRP of mode and what uses its result: rows of split iDps become whole. A
 * failure on this rank ends the job. */
void amped_exchange_reduce(amped_exchange *exchange, int mode);
/* Bytes that this rank receives where so many rows of every rank are exchanged. */
uint64_t amped_exchange_bytes(const amped_exchange *exchange, uint64_t rows);

/* Collective: every rank's own rows of mode's factor reach all ranks. A failure on this rank ends
 * the job: the others are inside the call. */
void amped_exchange_rows(amped_exchange *exchange, int mode);

/* The same for a part: rows first .. end of every rank's block (end <= block_rows of the plan), the
 * same on every rank. Parts may be exchanged in any order, and only what is sent or received need
 * be finished. */
void amped_exchange_part(amped_exchange *exchange, int mode, uint64_t first, uint64_t end);

#endif
