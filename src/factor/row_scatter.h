/* Row scatter: adds up the rows of an MTTKRP result of which every rank has a part, on their
 * owners: a reduce-scatter.
 *
 * Formats that hold a slab of a tensor, or one copy for all modes, make parts of the sums of all
 * rows (amped_partial_rows). Every rank sends each owner its rows. The owner adds them up in
 * double, in the order of ranks, so the bits are the same in every run on the same number of ranks.
 * Rows travel in the memory of the backend where MPI takes it, else in pieces through host memory.
 */
#ifndef AMPED_ROW_SCATTER_H
#define AMPED_ROW_SCATTER_H

#include "backend/backend.h"
#include "mpi/comm.h"

typedef struct amped_row_scatter amped_row_scatter;

/* Not collective. comm, worker and plan outlive the row scatter. *out is NULL, too, where the
 * worker's format has no parts or the run has one rank: sum then has nothing to do. */
amped_status amped_row_scatter_create(const amped_comm *comm, const amped_worker *worker,
                                      const amped_plan *plan, amped_row_scatter **out);
void amped_row_scatter_destroy(amped_row_scatter *scatter); /* NULL is allowed */

/* Bytes of host memory that create will take. */
uint64_t amped_row_scatter_host_bytes(const amped_comm *comm, const amped_worker *worker,
                                      const amped_plan *plan);

/* Collective, after MTTKRP of mode on every rank: own rows of the output become whole. The status
 * is this rank's own: a rank that fails exchanges like the others. */
amped_status amped_row_scatter_sum(amped_row_scatter *scatter, int mode);

#endif
