/* Row scatter: adds up, on their owners, the rows of an MTTKRP result of which every rank has a
 * part. This is a reduce-scatter.
 *
 * Formats that hold a slab of a tensor, or one copy for all modes, compute partial sums of all rows
 * (amped_partial_rows). Every rank sends each owner its rows. The owner adds them up in double, in
 * the order of ranks. Sums inside the nodes come first if amped_allgather_sums_inside: rank i of a
 * node adds up the rows of the owners on rail i (routes.h), and sends the sums to these owners, so
 * that a row leaves a node once. The bits are the same in every run on the same ranks and nodes.
 * Rows are sent from the backend's memory if MPI takes it, otherwise in pieces through host memory.
 */
#ifndef AMPED_ROW_SCATTER_H
#define AMPED_ROW_SCATTER_H

#include "backend/backend.h"
#include "mpi/comm.h"

typedef struct amped_row_scatter amped_row_scatter;

/* Not collective. rank_at[i] is the rank at place i of comm->ring, to be set before the first sum.
 * comm, worker, plan and rank_at must outlive the row scatter. *out is also NULL if the
 * worker's format has no partial sums or the run has one rank: sum then does nothing. */
amped_status amped_row_scatter_create(const amped_comm *comm, const amped_worker *worker,
                                      const amped_plan *plan, const int *rank_at,
                                      amped_row_scatter **out);
/* Collective, after create on all ranks; the status is this rank's own. Without this call no sums
 * come first. NULL is allowed. */
amped_status amped_row_scatter_find_nodes(amped_row_scatter *scatter);
void amped_row_scatter_destroy(amped_row_scatter *scatter); /* NULL is allowed */

/* Bytes of host memory that create will allocate. */
uint64_t amped_row_scatter_host_bytes(const amped_comm *comm, const amped_worker *worker,
                                      const amped_plan *plan);

/* Collective, after MTTKRP of mode on every rank: sum the own rows of the output over all ranks.
 * The status is this rank's own: a rank that fails exchanges like the others. */
amped_status amped_row_scatter_sum(amped_row_scatter *scatter, int mode);

#endif
