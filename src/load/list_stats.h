/* Census: what a plan needs to know of a file that holds one coordinate list and no tables. All
 * ranks that read count a part of it. */
#ifndef AMPED_LIST_STATS_H
#define AMPED_LIST_STATS_H

#include "load/input.h"
#include "base/kahan.h"

/* Collective; the status is agreed. *info is the source's, with iDp tables, distinct values, hash
 * and norm_squared, the same on every rank. Where the source has a hash it must be that of its
 * nonzeros (AMPED_BAD_INPUT), and its norm is taken; else equal coordinates are counted each for
 * itself in the norm, and readers must agree on the first slab (AMPED_BAD_INPUT). Shows progress.
 * Freed with amped_tensor_info_free, on failure, too. */
amped_status amped_list_stats_take(const amped_comm *comm, amped_input *source, bool parallel,
                                   amped_tensor_info *info);

/* Collective: the sum over ranks, the same on all of them. */
amped_status amped_list_stats_sum(const amped_comm *comm, const amped_kahan *mine, double *out);

#endif
