/* List statistics: the tables that a plan needs, counted from a file with one coordinate list and
 * no tables. All ranks count their slabs of the list, in the first pass of its source. */
#ifndef AMPED_LIST_STATS_H
#define AMPED_LIST_STATS_H

#include "base/kahan.h"
#include "load/list_source.h"

/* Collective; the status is agreed. *info = the input's info plus iDp tables, distinct values, hash
 * and norm_squared, the same on every rank. Free with amped_tensor_info_free, on failure too. Shows
 * progress.
 *
 * If the file states its hash, the nonzeros must have this hash (AMPED_BAD_INPUT), and the norm is
 * the file's. Otherwise the norm counts every nonzero separately, even if several have one
 * coordinate; load_list.h corrects it. All readers must then see the same first slab
 * (AMPED_BAD_INPUT). */
amped_status amped_list_stats_take(const amped_comm *comm, amped_input *input, bool parallel,
                                   const amped_worker *worker, amped_list_source *source,
                                   amped_tensor_info *info);

/* Collective; the status is agreed. *out = the sum of `mine` over ranks, the same bits on all
 * ranks. */
amped_status amped_list_stats_sum(const amped_comm *comm, const amped_kahan *mine, double *out);

#endif
