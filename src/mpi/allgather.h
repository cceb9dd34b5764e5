/* All-gather in place: every rank of a communicator holds a part of an array, and receives the
 * parts of all other ranks.
 *
 * A part is a number of contiguous units of equal size in bytes. Parts may lie anywhere in the
 * array and differ in size. The array is host memory or, if MPI takes device pointers, device
 * memory. The caller owns it.
 *
 * Parts travel by rails (routes.h) or around a ring of the ranks; each message is one piece of
 * contiguous memory. Links are fastest with such messages, and no MPI packs them. A long part is
 * sent as two pieces: one travels while the receiver of the other answers. Small parts among many
 * ranks go to MPI_Allgatherv, because there the steps of a ring would cost more than its bytes. The
 * user chooses with --exchange (way.h), or with MPI's own variables (amped_comm: chosen), which
 * give all parts to MPI_Allgatherv. */
#ifndef AMPED_ALLGATHER_H
#define AMPED_ALLGATHER_H

#include "mpi/comm.h"

typedef struct amped_allgather amped_allgather;

/* Not collective; the status is this rank's own. mpi and comm must outlive the object. Errors of
 * MPI calls end the job through comm. */
amped_status amped_allgather_create(const amped_comm *comm, MPI_Comm mpi, uint64_t unit_bytes,
                                    amped_allgather **out);
/* Collective, for an all-gather of comm->ring; the status is this rank's own. Without this call
 * parts that would use rails go round the ring. */
amped_status amped_allgather_find_rails(amped_allgather *gather);
void amped_allgather_destroy(amped_allgather *gather);

/* The way of long parts among all ranks, and the way of parts of `units` units. Never auto. The
 * same on every rank. */
amped_way amped_allgather_way_of(const amped_comm *comm);
amped_way amped_allgather_way(const amped_allgather *gather, uint64_t units);
/* Do sums over ranks come inside the nodes first, and then cross by rails? Not with in_order: in
 * the order of ranks, sums do not depend on which nodes the ranks are on. The same on every rank.
 */
bool amped_allgather_sums_inside(const amped_comm *comm);

/* Collective: rank q's part is count[q] units from unit first[q] of `array`. first and count are
 * the same on every rank. */
void amped_allgather_parts(amped_allgather *gather, void *array, const uint64_t *first,
                           const uint64_t *count);

#endif
