/* Load copies: every nonzero of every ordered copy goes from the file to its rank.
 *
 * A copy is read in slabs (slab_reader.h). The reader of a slab sends each rank its shard (shard.h)
 * while the next slab is read; buffers hold a few slabs, however large the tensor is. Rank 0 reads
 * all slabs; with `parallel` all ranks read at the same time, each slab once.
 *
 * Every rank gets its shards in the order of the slabs, translates indices to positions and hands
 * the nonzeros to its backend. Nonzeros of split iDps (plan.h) come last in a rank's copy: a second
 * traversal reads their slabs again.
 *
 * Data are checked during loading: every nonzero must be in the iDp given by the table, and each
 * copy, over all ranks, must have the tensor's hash. */
#ifndef AMPED_LOAD_COPIES_H
#define AMPED_LOAD_COPIES_H

#include "backend/backend.h"
#include "load/input.h"

/* Collective; the status is agreed. AMPED_BAD_INPUT: a check of the data failed. All arguments are
 * borrowed for the call. worker is prepared for the plan. *seconds is this rank's wall time. Shows
 * progress on rank 0. */
amped_status amped_load_copies(const amped_comm *comm, amped_input *input, bool parallel,
                               const amped_plan *plan, const amped_worker *worker, double *seconds);

/* Bytes of host memory that amped_load_copies takes on a rank. They do not grow with the tensor.
 * reads: the rank reads the file. Not collective. */
uint64_t amped_load_copies_host_bytes(const amped_tensor_info *info, const amped_plan *plan,
                                      bool reads, bool parallel);

#endif
