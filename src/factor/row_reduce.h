/* Row reduce: adds up the shared rows of split iDps (plan.h) on their owners.
 *
 * Several ranks hold nonzeros of a split iDp, so each MTTKRP result holds a part of the sum of its
 * rows. The parts are added in double, in the order of ranks. The sum goes to the owner's own rows
 * of its result. So the bits are the same in every run on the same number of ranks. Rows pass
 * through host memory, because they are few. */
#ifndef AMPED_ROW_REDUCE_H
#define AMPED_ROW_REDUCE_H

#include "backend/backend.h"
#include "mpi/comm.h"

typedef struct amped_row_reduce amped_row_reduce;

/* Not collective. comm, worker and plan outlive the row reduce. */
amped_status amped_row_reduce_create(const amped_comm *comm, const amped_worker *worker,
                                     const amped_plan *plan, amped_row_reduce **out);
void amped_row_reduce_destroy(amped_row_reduce *reduce);

/* Bytes of host memory that create will take. */
uint64_t amped_row_reduce_host_bytes(const amped_plan *plan);

/* Collective, after MTTKRP of mode. Returns at once where the mode has no split iDps. The status is
 * this rank's own; after a failure the caller ends the job. */
amped_status amped_row_reduce_sum(amped_row_reduce *reduce, int mode);

#endif
