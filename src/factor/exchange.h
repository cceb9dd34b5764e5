/* Exchange: sends every rank's new rows of a factor to all ranks. AMPED, Algorithm 1 line 10.
 *
 * It is an all-gather in place and in position order, so no rank unpacks rows. All blocks have the
 * same size, because the plan pads them. By rails each row enters a node once, on one of its
 * links; in a ring a node also gets rows that it has. With one rank nothing is sent.
 *
 * There are two implementations:
 *   allgather.h     on the factors themselves, if they are host memory or MPI takes device pointers
 *   shm_exchange.h  through host memory that the ranks of a node share: all other cases, and small
 *                   messages of many ranks on devices, where latency counts
 *
 * The exchange also has the row reduce (row_reduce.h), which adds up shared rows after MTTKRP, and
 * the row scatter (row_scatter.h), which adds up formats' partial sums of all rows. */
#ifndef AMPED_EXCHANGE_H
#define AMPED_EXCHANGE_H

#include "backend/backend.h"
#include "mpi/comm.h"

typedef struct amped_exchange amped_exchange;

/* Collective; the status is agreed. comm, worker and plan must outlive the exchange. */
amped_status amped_exchange_create(const amped_comm *comm, const amped_worker *worker,
                                   const amped_plan *plan, amped_exchange **out);
/* Collective. */
void amped_exchange_destroy(amped_exchange *exchange);

/* Name of the method for rows in device memory or host memory, for users. Static text. */
const char *amped_exchange_describe(const amped_comm *comm, bool device_pointers);

/* Bytes of host memory that create will allocate on this rank. Not collective. */
uint64_t amped_exchange_host_bytes(const amped_comm *comm, const amped_worker *worker,
                                   const amped_plan *plan);

/* Collective, after MTTKRP of mode and before its result is used: rows with parts on several ranks
 * are summed on their owners. The status is this rank's own: a rank that fails exchanges like the
 * others. */
amped_status amped_exchange_reduce(amped_exchange *exchange, int mode);

/* Bytes that this rank receives when `rows` rows of every rank are exchanged. */
uint64_t amped_exchange_bytes(const amped_exchange *exchange, uint64_t rows);

/* Collective: send every rank's own rows of mode's factor to all ranks. The status is this rank's
 * own: a rank that fails exchanges like the others. */
amped_status amped_exchange_rows(amped_exchange *exchange, int mode);

/* Exchange a part: rows first .. end of every rank's block (end <= block_rows of the plan). first
 * and end are the same on every rank. Parts may be exchanged in any order. Only the rows of the
 * part need to be finished. */
amped_status amped_exchange_part(amped_exchange *exchange, int mode, uint64_t first, uint64_t end);

#endif
