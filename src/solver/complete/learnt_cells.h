/* Learnt cells: which cells of a weighted fit have a weight above 0. Rank 0 gets the cells with the
 * smallest hashes (tensor/entry_sample.h), because all cells may be too many for one rank. */
#ifndef AMPED_LEARNT_CELLS_H
#define AMPED_LEARNT_CELLS_H

#include "factor/context.h"

/* Bytes of host memory that find takes on this rank, in addition to the list. */
uint64_t amped_learnt_cells_bytes(const amped_plan *plan);

/* Collective; the status is agreed. Row fits must be prepared. *out on rank 0: the cells, by file
 * index, of at most `most` nonzeros of positive weight, all of which are learnt or held out; held:
 * only of those that are held out. Its values are 0. Sorted as a sample of `seed`. Elsewhere, and
 * on failure, *out is empty. */
amped_status amped_learnt_cells_find(const amped_context *context, bool held, uint64_t seed,
                                     uint64_t most, amped_sptensor *out);

#endif
