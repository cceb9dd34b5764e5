/* Redistribute: nonzeros of a file's one coordinate list, in any order, travel to the ranks that
 * get them in one mode's copy.
 *
 * Readers (rank 0, or all ranks with `parallel`) take turns at the list's slabs. In every round
 * each reader takes a part of its slab. It tells every rank how many nonzeros come (MPI_Alltoall),
 * then sends them, one array after another (MPI_Alltoallv). Arrived nonzeros need no unpacking.
 *
 * Host memory holds one part for sending and one part of every reader for receiving, however large
 * the tensor is. With up to 8 readers a part is a whole slab, and nonzeros arrive in the order of
 * the list; more readers send smaller parts, by turns.
 *
 * Nonzeros of split iDps (plan.h) are numbered in the order of the list, whoever reads. Therefore
 * each reader first counts the nonzeros of every split in its slab. A prefix sum over ranks then
 * tells the number of the first one.
 *
 * A rank that fails sends a mark in place of its counts: all ranks leave in the same round. */
#ifndef AMPED_REDISTRIBUTE_H
#define AMPED_REDISTRIBUTE_H

#include "backend/backend.h"
#include "load/slab_reader.h"

typedef struct amped_redistribute amped_redistribute;

/* Called with the nonzeros that arrived in one round: indices of amped_itype_for(dim), values of
 * info->value_type, in host memory of the backend, valid during the call. An error ends the
 * redistribution on all ranks. */
typedef amped_status (*amped_redistribute_receiver)(void *context, const amped_nonzeros *received);

/* Allocates the buffers, for any mode. Arguments are borrowed until destroy. Not collective.
 * amped_redistribute_destroy follows, also where this fails. */
amped_status amped_redistribute_create(const amped_comm *comm, amped_input *input, bool parallel,
                                       const amped_plan *plan, const amped_worker *worker,
                                       amped_redistribute **out);

/* NULL is allowed. Not collective. */
void amped_redistribute_destroy(amped_redistribute *redistribute);

/* Collective; the status is agreed. Hands this rank's nonzeros of mode to `take`. AMPED_BAD_INPUT:
 * they are more or fewer than the plan says. Progress is counted on from progress_before, in
 * nonzeros. */
amped_status amped_redistribute_mode(amped_redistribute *redistribute, int mode,
                                     uint64_t progress_before, amped_redistribute_receiver take,
                                     void *context);

/* Collective; the status is agreed. Hands every nonzero of the list to one rank's `take`, which a
 * hash of the coordinate chooses: equal coordinates come together, and ranks get about as many
 * each. */
amped_status amped_redistribute_coordinates(amped_redistribute *redistribute,
                                            amped_redistribute_receiver take, void *context);

/* Nonzeros that arrive at a rank in one round at most. */
uint64_t amped_redistribute_capacity_of(const amped_tensor_info *info, int nranks, bool parallel);

/* Bytes of host memory that all of this takes on a rank. reads: the rank reads the file. */
uint64_t amped_redistribute_host_bytes(const amped_tensor_info *info, const amped_plan *plan,
                                       bool reads, bool parallel);

/* Opens a reader of the list's slabs that are this rank's turn, of all slabs where rank 0 reads
 * alone. The caller closes *reader first, then frees *wanted with amped_free. Both are NULL on a
 * rank that does not read. Not collective. */
amped_status amped_redistribute_read(const amped_comm *comm, amped_input *input, bool parallel,
                                     bool **wanted, amped_slab_reader **reader);

#endif
