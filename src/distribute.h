/* Distribute: every nonzero of every copy reaches the rank that owns its output row.
 *
 * Read by root: rank 0 reads a copy in slabs (a reader thread, a ring of two) and sends each rank
 * its nonzeros of the slab while the next one is read; its memory stays at the ring's size. Read in
 * parallel: every rank reads the slabs that hold nonzeros of its own. Either way a rank translates
 * indices to positions as they arrive and hands them to its backend. The slabs that hold nonzeros
 * of split iDps (plan.h) are read in a second walk, so that these come last.
 *
 * The data are checked on the way: every nonzero belongs to the iDp that the table says, and the
 * hash of each copy, over all ranks, is that of the tensor (AMPED_BAD_INPUT otherwise). */
#ifndef AMPED_DISTRIBUTE_H
#define AMPED_DISTRIBUTE_H

#include "backend.h"
#include "source.h"

/* Collective; the status is agreed. Shows progress on rank 0. *seconds is this rank's wall time. */
amped_status amped_distribute(const amped_comm *comm, amped_source *source, bool parallel,
                              const amped_plan *plan, const amped_backend *backend,
                              amped_context *ctx, double *seconds);

/* Bytes of host memory that amped_distribute takes on a rank that reads or not, whatever the size
 * of the tensor. */
uint64_t amped_distribute_host_bytes(const amped_tensor_info *info, const amped_plan *plan,
                                     bool reads, bool parallel);

#endif
