/* Exchange of updated rows: one all-gather per mode, in place, in position order, so that nothing
 * is unpacked. AMPED, Algorithm 1 line 10.
 *
 * MPI_Allgatherv works on the backend's factors themselves where they are host memory or where MPI
 * takes device pointers, and on host memory that the device reaches fast otherwise; describe says
 * which. Blocks are even (the plan pads them) and counted in rows, or groups of rows, of a
 * contiguous type, so no count reaches 2^31. Alone, nothing moves. Before it, right after MTTKRP,
 * the parts of rows that several ranks worked on are added up (partial.h). */
#ifndef AMPED_EXCHANGE_H
#define AMPED_EXCHANGE_H

#include "backend.h"
#include "comm.h"

typedef struct amped_exchange amped_exchange;

/* Collective; the status is agreed. comm, backend, context and plan outlive the exchange. */
amped_status amped_exchange_create(const amped_comm *comm, const amped_backend *backend,
                                   amped_context *ctx, const amped_plan *plan,
                                   amped_exchange **out);
void amped_exchange_destroy(amped_exchange *exchange);

/* Static text. */
const char *amped_exchange_describe(const amped_exchange *exchange);

/* Bytes of host memory that create will take on this rank. */
uint64_t amped_exchange_host_bytes(const amped_comm *comm, const amped_backend *backend,
                                   const amped_plan *plan);

/* Collective, between MTTKRP of mode and what uses its result: rows of split iDps become whole. A
 * failure on this rank ends the job. */
void amped_exchange_partial(amped_exchange *exchange, int mode);

/* Collective: every rank's own rows of mode's factor reach all ranks. A failure on this rank ends
 * the job: the others are inside the call. */
void amped_exchange_rows(amped_exchange *exchange, int mode);

#endif
