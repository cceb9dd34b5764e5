/* Redistribute: the nonzeros of a list, in any order, travel to the ranks that get them in one
 * mode's copy.
 *
 * Ranks take turns at the list's slabs (list_source.h). In every round each rank that has one deals
 * a part of its slab (backend.h). It tells every rank how many nonzeros come (MPI_Alltoall), then
 * sends them, one array after another (MPI_Alltoallv): from device memory to device memory where
 * MPI takes it. Arrived nonzeros need no unpacking. One rank alone takes its windows as they are.
 *
 * Memory holds one part for sending and one part of every rank for receiving, however large the
 * tensor is. With up to 8 ranks a part is a whole slab, and nonzeros arrive in the order of the
 * list; more ranks send smaller parts, by turns.
 *
 * Nonzeros of split iDps (plan.h) are numbered in the order of the list, whoever reads. Therefore
 * each rank first counts the nonzeros of every split in its slab. A prefix sum over ranks then
 * tells the number of the first one.
 *
 * A rank that fails sends a mark in place of its counts: all ranks leave in the same round. */
#ifndef AMPED_REDISTRIBUTE_H
#define AMPED_REDISTRIBUTE_H

#include "load/list_source.h"

typedef struct amped_redistribute amped_redistribute;

/* Called with the nonzeros that arrived in one round, in memory of the list part or, by coordinate,
 * in host memory; valid during the call. An error ends the redistribution on all ranks. */
typedef amped_status (*amped_redistribute_receiver)(void *context, const amped_nonzeros *received);

/* Allocates the buffers, for any mode. Arguments are borrowed until destroy. Not collective.
 * amped_redistribute_destroy follows, also where this fails. */
amped_status amped_redistribute_create(const amped_comm *comm, amped_input *input,
                                       amped_list_source *source, const amped_plan *plan,
                                       const amped_worker *worker, amped_redistribute **out);

/* NULL is allowed. Not collective. */
void amped_redistribute_destroy(amped_redistribute *redistribute);

/* Collective; the status is agreed. Hands this rank's nonzeros of mode to `take`. AMPED_BAD_INPUT:
 * they are more or fewer than the plan says, or the file is read again and has another hash than
 * `hash`. Progress is counted on from progress_before, in nonzeros. */
amped_status amped_redistribute_mode(amped_redistribute *redistribute, int mode, uint64_t hash,
                                     uint64_t progress_before, amped_redistribute_receiver take,
                                     void *context);

/* Collective; the status is agreed. Hands every nonzero of the list to one rank's `take`, which a
 * hash of the coordinate chooses: equal coordinates come together, and ranks get about as many
 * each. */
amped_status amped_redistribute_coordinates(amped_redistribute *redistribute,
                                            amped_redistribute_receiver take, void *context);

/* Bytes of host memory that this takes on a rank, beside the source's. */
uint64_t amped_redistribute_host_bytes(const amped_plan *plan);

#endif
