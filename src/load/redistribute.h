/* Redistribute: nonzeros of a file's one coordinate list, in whatever order it has, travel to the
 * ranks that get them in one mode's copy.
 *
 * Readers (rank 0, or all ranks with `parallel`) take turns at the list's slabs. In every round
 * each reader takes a part of its slab, says how much of it is whose (MPI_Alltoall) and sends it,
 * array by array (MPI_Alltoallv), so that what arrives needs no unpacking. Buffers stay at one part
 * for sending and one of every reader for receiving, however large the tensor is. Nonzeros arrive
 * in the order of the list, for up to 8 readers (more redistribute smaller parts, in turn).
 *
 * Nonzeros of split iDps (plan.h) are numbered in the order of the list, whoever reads: before the
 * readers redistribute a slab each, they count it, and add up what is in the slabs before theirs.
 *
 * A reader or receiver that fails says so in place of its counts: all ranks leave in the same
 * round.
 */
#ifndef AMPED_REDISTRIBUTE_H
#define AMPED_REDISTRIBUTE_H

#include "backend/backend.h"
#include "load/slab_reader.h"

typedef struct amped_redistribute amped_redistribute;

/* What came in one round: indices of amped_itype_for(dim), values of info->value_type, in host
 * memory of the backend. Returning an error ends the redistribution on all ranks. */
typedef amped_status (*amped_redistribute_receiver)(void *context, const amped_nonzeros *received);

/* Buffers for redistribution any mode. Not collective. On failure, too, destroy follows. */
amped_status amped_redistribute_create(const amped_comm *comm, amped_input *source, bool parallel,
                                       const amped_plan *plan, const amped_worker *worker,
                                       amped_redistribute **out);
void amped_redistribute_destroy(amped_redistribute *redistribute);

/* Collective; the status is agreed. Hands this rank's nonzeros of mode to `take`: as many as the
 * plan says, or AMPED_BAD_INPUT. Progress is counted on from progress_before. */
amped_status amped_redistribute_mode(amped_redistribute *redistribute, int mode,
                                     uint64_t progress_before, amped_redistribute_receiver take,
                                     void *context);

/* The same for all nonzeros, sent out by a hash of their coordinates, about as many to each rank:
 * equal coordinates come together, whatever is split. */
amped_status amped_redistribute_coordinates(amped_redistribute *redistribute,
                                            amped_redistribute_receiver take, void *context);

/* Nonzeros that arrive at a rank in one round at most. */
uint64_t amped_redistribute_capacity_of(const amped_tensor_info *info, int nranks, bool parallel);

/* Bytes of host memory that create and redistribution take on a rank that reads or not. */
uint64_t amped_redistribute_host_bytes(const amped_tensor_info *info, const amped_plan *plan,
                                       bool reads, bool parallel);

/* A ring of the slabs that this rank reads of the list (rank 0, or all ranks by turns); *wanted is
 * freed with amped_free after the ring. NULL and no slab for a rank that does not read. */
amped_status amped_redistribute_read(const amped_comm *comm, amped_input *source, bool parallel,
                                     bool **wanted, amped_slab_reader **ring);

#endif
