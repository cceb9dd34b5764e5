/* Redistribute: the nonzeros of a list, in any order, are sent to their ranks in one mode's copy.
 *
 * Ranks take turns at the list's slabs (list_source.h). In every round each rank with a slab
 * partitions a part of it (backend.h). It sends every rank a number of nonzeros (MPI_Alltoall),
 * then the nonzeros, array by array (MPI_Alltoallv): from device memory to device memory if MPI
 * supports this. Received nonzeros need no unpacking. A single rank takes its windows as they are.
 *
 * Memory holds one part for sending and one part of every rank for receiving, however large the
 * tensor is. With up to 8 ranks a part is a whole slab, and nonzeros arrive in the order of the
 * list. More ranks send smaller parts, in turns.
 *
 * Nonzeros of split iDps (plan.h) are numbered in the order of the list, whichever rank reads.
 * Therefore each rank first counts the nonzeros of every split in its slab; a prefix sum over ranks
 * then gives the number of the first one.
 *
 * A rank that fails sends a mark in place of its counts: all ranks leave in the same round. */
#ifndef AMPED_REDISTRIBUTE_H
#define AMPED_REDISTRIBUTE_H

#include "load/list_source.h"

typedef struct amped_redistribute amped_redistribute;

/* Called with the nonzeros received in one round, in memory of the list part or, by coordinate, in
 * host memory; valid during the call. An error ends the redistribution on all ranks. */
typedef amped_status (*amped_redistribute_receiver)(void *context, const amped_nonzeros *received);

/* Allocate the buffers, for any mode. Arguments are borrowed until destroy. Not collective. Call
 * amped_redistribute_destroy afterwards, even if create fails. */
amped_status amped_redistribute_create(const amped_comm *comm, amped_input *input,
                                       amped_list_source *source, const amped_plan *plan,
                                       const amped_worker *worker, amped_redistribute **out);

/* NULL is allowed. Not collective. */
void amped_redistribute_destroy(amped_redistribute *redistribute);

/* Collective; the status is agreed. Hand this rank's nonzeros of mode to `take`. AMPED_BAD_INPUT:
 * their number differs from the plan's, or the file is read again and its hash differs from `hash`.
 * Progress is counted on from progress_before, in nonzeros. */
amped_status amped_redistribute_mode(amped_redistribute *redistribute, int mode, uint64_t hash,
                                     uint64_t progress_before, amped_redistribute_receiver take,
                                     void *context);

/* Collective; the status is agreed. Hand every nonzero of the list to `take` of one rank, chosen by
 * a hash of the coordinate: equal coordinates come together, and every rank gets about the same
 * number. */
amped_status amped_redistribute_coordinates(amped_redistribute *redistribute,
                                            amped_redistribute_receiver take, void *context);

/* Bytes of host memory on a rank, in addition to the source's. */
uint64_t amped_redistribute_host_bytes(const amped_plan *plan);

#endif
