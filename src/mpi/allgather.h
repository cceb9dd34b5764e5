/* All-gather in place: every rank of a communicator holds a part of an array, and receives those of
 * all others.
 *
 * A part is a run of units, each so many contiguous bytes; parts may lie anywhere in the array and
 * differ in size. The array is host memory or, where MPI takes device pointers, device memory.
 *
 * Parts travel round a ring of the ranks, each message one piece of contiguous memory: what links
 * carry best, and no MPI packs it. Long parts are two pieces each, one of which is under way while
 * the other's receiver answers. Small parts among many ranks, where a ring's steps would cost
 * more than its bytes, go to MPI_Allgatherv, whose algorithms for those take fewer steps; so does
 * everything where the user chose an algorithm of MPI's (amped_comm: chosen). */
#ifndef AMPED_ALLGATHER_H
#define AMPED_ALLGATHER_H

#include "mpi/comm.h"

typedef struct amped_allgather amped_allgather;

/* Local, no agreement. comm (whose errors end the job) and the communicator outlive it. */
amped_status amped_allgather_create(const amped_comm *comm, MPI_Comm mpi, uint64_t unit_bytes,
                                    amped_allgather **out);
void amped_allgather_destroy(amped_allgather *gather);

/* Are parts of so many units sent round the ring? The same on every rank. */
bool amped_allgather_rings(const amped_allgather *gather, uint64_t units);

/* Collective: count[q] units from unit first[q] of `array` are rank q's part. Both arrays are the
 * same on every rank. */
void amped_allgather_parts(amped_allgather *gather, void *array, const uint64_t *first,
                           const uint64_t *count);

#endif
