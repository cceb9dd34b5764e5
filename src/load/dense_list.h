/* Dense list: cells of a dense tensor, as a coordinate list in host memory. Not collective. */
#ifndef AMPED_DENSE_LIST_H
#define AMPED_DENSE_LIST_H

#include "load/dense_source.h"
#include "tensor/overflow.h"
#include "tensor/sptensor.h"

/* Cells that were read. */
typedef struct amped_dense_counts {
  uint64_t zeros;   /* observed cells that are 0 */
  uint64_t missing; /* cells that are missing, with AMPED_MISSING_KEEP */
} amped_dense_counts;

/* Read the whole source, piece by piece, in file order. The list has the nonzero cells; with
 * AMPED_MISSING_KEEP it has all cells that are not missing, also zeros. nnz is 0 if there are none.
 * overflow NULL: memory has no limit. AMPED_BAD_INPUT if a cell is refused, or if the file states
 * other statistics. Free with amped_sptensor_free, also after a failure. */
amped_status amped_dense_list_read(amped_dense_source *source, const amped_overflow *overflow,
                                   amped_sptensor *out, amped_dense_counts *counts);

/* Print how many cells are observed, 0 and missing. */
void amped_dense_list_say(const char *path, const amped_dense_info *info,
                          const amped_dense_counts *counts);

/* Open a file, read the list of its observed cells with the labels of its modes, and print their
 * numbers. axes: the user's names and values, or NULL. AMPED_BAD_INPUT also if all cells are
 * missing. */
amped_status amped_dense_list_load(const char *path, const char *dataset,
                                   const amped_axis_options *axes, const amped_overflow *overflow,
                                   amped_sptensor *out);

#endif
