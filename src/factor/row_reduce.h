/* Partial: rows of split iDps (plan.h), of which several ranks hold a part in their MTTKRP results.
 *
 * The parts are added up in double, in the order of ranks, and the sum goes to the owner's own rows
 * of its result: the same bits in every run on the same number of ranks. Through host memory: there
 * are few such rows. */
#ifndef AMPED_PARTIAL_H
#define AMPED_PARTIAL_H

#include "backend/backend.h"
#include "mpi/comm.h"

typedef struct amped_partial amped_partial;

/* On every rank; no communication. comm, backend, context and plan outlive it. */
amped_status amped_partial_create(const amped_comm *comm, const amped_backend *backend,
                                  amped_context *ctx, const amped_plan *plan, amped_partial **out);
void amped_partial_destroy(amped_partial *partial);

/* Bytes of host memory that create will take. */
uint64_t amped_partial_host_bytes(const amped_plan *plan);

/* Collective, after the MTTKRP of mode; nothing to do where the mode has no split iDps. */
amped_status amped_partial_sum(amped_partial *partial, int mode);

#endif
