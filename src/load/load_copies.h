/* Distribute: every nonzero of every copy reaches the rank that owns its output row.
 *
 * A copy is read in slabs (a reader thread, a ring of two), and the reader sends each rank its
 * nonzeros of the slab while the next one is read; memory stays at the ring's size. Read by root:
 * rank 0 reads all slabs. Read in parallel: ranks take turns, slab by slab, so that each is read
 * once, by as many readers at a time as there are ranks. Every rank stores its shares in the order
 * of the slabs, translates indices to positions as they arrive and hands them to its backend. The
 * slabs that hold nonzeros of split iDps (plan.h) are read in a second walk, so that these come
 * last.
 *
 * The data are checked on the way: every nonzero belongs to the iDp that the table says, and the
 * hash of each copy, over all ranks, is that of the tensor (AMPED_BAD_INPUT otherwise). */
#ifndef AMPED_LOAD_COPIES_H
#define AMPED_LOAD_COPIES_H

#include "backend/backend.h"
#include "load/input.h"

/* Collective; the status is agreed. Shows progress on rank 0. *seconds is this rank's wall time. */
amped_status amped_load_copies(const amped_comm *comm, amped_input *source, bool parallel,
                               const amped_plan *plan, const amped_worker *worker, double *seconds);

/* Bytes of host memory that amped_load_copies takes on a rank that reads or not, whatever the size
 * of the tensor. */
uint64_t amped_load_copies_host_bytes(const amped_tensor_info *info, const amped_plan *plan,
                                      bool reads, bool parallel);

#endif
