/* Dense tensors of convert: which inputs they are, how they become lists, and how cells are
 * written. */
#ifndef AMPED_CONVERT_DENSE_H
#define AMPED_CONVERT_DENSE_H

#include "base/json.h"
#include "cli/options.h"
#include "session/output_guard.h"
#include "sort_on_disk/external_sort.h"

/* Is the input, which was probed and is no result, a dense tensor? AMPED_USAGE where --dense,
 * --sparse and the other options do not fit the input, or each other. */
amped_status amped_convert_is_dense(const amped_options *options, bool *out);

/* --sparse: read the input as a list (load/dense_list.h). *zeroed: the cells that were not finite.
 * Free with amped_sptensor_free, also after a failure. */
amped_status amped_convert_read_dense(const amped_options *options, const amped_overflow *overflow,
                                      amped_sptensor *out, uint64_t *zeroed);

/* --dense, of a list: its nonzeros in order, of which no two have one coordinate, are t's, or
 * those on disk where the sort was used. *info: of the cells. */
amped_status amped_convert_write_cells(const amped_options *options, const amped_external_sort *x,
                                       const amped_sptensor *t, amped_dense_info *info);

/* --dense, of a dense tensor; `found` stands in the place of the output. json may be NULL. */
amped_status amped_convert_copy_cells(const amped_options *options, const amped_output *found,
                                      amped_json *json);

#endif
