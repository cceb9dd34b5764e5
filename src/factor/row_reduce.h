/* Partial: rows of split iDps (plan.h), of which several ranks hold a part in their MTTKRP results.
 *
 * The parts are added up in double, in the order of ranks, and the sum goes to the owner's own rows
 * of its result: the same bits in every run on the same number of ranks. Through host memory: there
 * are few such rows. */
#ifndef AMPED_ROW_REDUCE_H
#define AMPED_ROW_REDUCE_H

#include "backend/backend.h"
#include "mpi/comm.h"

typedef struct amped_row_reduce amped_row_reduce;

/* On every rank; no communication. comm, worker and plan outlive it. */
amped_status amped_row_reduce_create(const amped_comm *comm, const amped_worker *worker,
                                     const amped_plan *plan, amped_row_reduce **out);
void amped_row_reduce_destroy(amped_row_reduce *partial);

/* Bytes of host memory that create will take. */
uint64_t amped_row_reduce_host_bytes(const amped_plan *plan);

/* Collective, after the MTTKRP of mode; nothing to do where the mode has no split iDps. */
amped_status amped_row_reduce_sum(amped_row_reduce *partial, int mode);

#endif
