/* Dense info: facts about a dense tensor that are known without reading a cell. Host memory. */
#ifndef AMPED_DENSE_INFO_H
#define AMPED_DENSE_INFO_H

#include "base/status.h"
#include "tensor/cell_type.h"

/* layout: the modes in order of memory and file, from the one whose index changes slowest to the
 * one whose index changes fastest. 0, 1, .. is C's order; .., 1, 0 is Fortran's. So no file's cells
 * are ever transposed. */
typedef struct amped_dense_info {
  int order;
  uint64_t dims[AMPED_MAX_ORDER];
  int layout[AMPED_MAX_ORDER];
  amped_cell_type type;
  uint64_t cells; /* product of dims; its bytes fit in 63 bits */
  bool has_stats; /* the members below are known, from a file written by this program */
  uint64_t nnz;   /* nonzero cells */
  double norm_squared;
  uint64_t hash; /* amped_sptensor_hash of the nonzero cells */
} amped_dense_info;

/* Count the cells from order, dims and type. Returns false if their bytes do not fit in 63 bits. */
bool amped_dense_info_count(amped_dense_info *info);

/* Is the layout C's order of the modes? */
bool amped_dense_info_is_c(const amped_dense_info *info);

/* AMPED_BAD_INPUT if info has statistics that differ from nnz and hash of the cells of `where`. */
amped_status amped_dense_info_check(const amped_dense_info *info, uint64_t nnz, uint64_t hash,
                                    const char *where);

/* The indices of cell number `cell`, in a layout of these dims. */
void amped_dense_index(int order, const uint64_t *dims, const int *layout, uint64_t cell,
                       uint64_t *index);

/* Write the indices of a cell, from 1, as "1, 2, 3". text has AMPED_DENSE_PLACE bytes. */
#define AMPED_DENSE_PLACE (AMPED_MAX_ORDER * 24)
const char *amped_dense_place(int order, const uint64_t *index, char *text);

/* Record the error that the cell at `index` has a value that its file says means missing, and
 * return AMPED_BAD_INPUT. */
amped_status amped_dense_missing(int order, const uint64_t *index, double value, const char *where);

/* Record the error that the cell at `index` is NaN or infinite, and return AMPED_BAD_INPUT. */
amped_status amped_dense_not_finite(int order, const uint64_t *index, double value,
                                    const char *where);

#endif
