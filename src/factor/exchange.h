/* Exchange: every rank's new rows of a factor reach all ranks. AMPED, Algorithm 1 line 10.
 *
 * It is an all-gather in place and in position order, so no rank unpacks rows. All blocks have the
 * same size, because the plan pads them. Ranks follow each other node by node, so that each row
 * enters a node once. MPI's settings do not choose the algorithm. On one rank nothing moves.
 *
 * There are two ways:
 *   allgather.h     on the factors themselves: they are host memory, or MPI takes device pointers
 *   shm_exchange.h  through host memory that the ranks of a node share: all other cases, and small
 *                   messages of many ranks on devices, where latency counts
 *
 * The exchange also holds the row reduce (row_reduce.h), which adds up shared rows after MTTKRP,
 * and the row scatter (row_scatter.h), which adds up formats' parts of all rows. */
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

/* The way that the exchange takes, for users. Static text. */
const char *amped_exchange_describe(const amped_exchange *exchange);

/* Bytes of host memory that create will take on this rank. Not collective. */
uint64_t amped_exchange_host_bytes(const amped_comm *comm, const amped_worker *worker,
                                   const amped_plan *plan);

/* Collective, after MTTKRP of mode and before its result is used: rows that several ranks have
 * parts of become whole on their owners. The status is this rank's own: a rank that fails exchanges
 * like the others. */
amped_status amped_exchange_reduce(amped_exchange *exchange, int mode);

/* Bytes that this rank receives in an exchange of `rows` rows of every rank. */
uint64_t amped_exchange_bytes(const amped_exchange *exchange, uint64_t rows);

/* Collective: every rank's own rows of mode's factor reach all ranks. The status is this rank's
 * own, likewise. */
amped_status amped_exchange_rows(amped_exchange *exchange, int mode);

/* The same for a part: rows first .. end of every rank's block (end <= block_rows of the plan).
 * first and end are the same on every rank. Parts may be exchanged in any order. Only the rows of
 * the part need to be finished. */
amped_status amped_exchange_part(amped_exchange *exchange, int mode, uint64_t first, uint64_t end);

#endif
