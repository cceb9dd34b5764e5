/* Dense tensors in convert: which inputs are dense, how they are read as sparse lists, and how the
 * cells of a dense output are written. */
#ifndef AMPED_CONVERT_DENSE_H
#define AMPED_CONVERT_DENSE_H

#include "base/json.h"
#include "cli/options.h"
#include "session/output_guard.h"
#include "sort_on_disk/external_sort.h"

/* Is the input a dense tensor? It must have been probed, and not be a result. AMPED_USAGE: --dense,
 * --sparse or other options do not fit the input or each other. */
amped_status amped_convert_is_dense(const amped_options *options, bool *out);

/* For --sparse: read the input as a list (load/dense_list.h). *not_finite: number of cells
 * that were not finite or missing. Free *out with amped_sptensor_free, even after a failure. */
amped_status amped_convert_read_dense(const amped_options *options, const amped_overflow *overflow,
                                      amped_sptensor *out, uint64_t *not_finite);

/* For --dense with a list as input: write the cells. The nonzeros must be in order, without
 * duplicates. They are t's, or on disk if the sort was used. *info: facts of the cells. */
amped_status amped_convert_write_cells(const amped_options *options, const amped_external_sort *x,
                                       const amped_sptensor *t, amped_dense_info *info);

/* For --dense with a dense input: copy the cells. found: the file that the output would replace.
 * json: may be NULL. */
amped_status amped_convert_copy_cells(const amped_options *options, const amped_output *found,
                                      amped_json *json);

#endif
