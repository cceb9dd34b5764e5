/* Dense source: the file from which a dense tensor is read, HDF5 (dense_file.h) or npy (io_npy.h).
 * Not collective: each rank that reads has its own. One thread at a time. */
#ifndef AMPED_DENSE_SOURCE_H
#define AMPED_DENSE_SOURCE_H

#include "base/status.h"
#include "tensor/cut_integers.h"
#include "tensor/dense_info.h"
#include "text/axes.h"

typedef struct amped_dense_source amped_dense_source;

/* Policy for missing cells: NaN, and cells that the file calls missing. */
typedef enum amped_missing_cells {
  AMPED_MISSING_REFUSE, /* an error, as for infinite cells */
  AMPED_MISSING_ZERO,   /* missing and infinite cells are read as 0, and are counted */
  AMPED_MISSING_KEEP    /* cells are read as they are; amped_dense_source_values finds them */
} amped_missing_cells;

/* Can a dense source open this file? The caller has probed it if its suffix means HDF5
 * (amped_io_is_hdf5). Decided by the suffix .npy, or by the contents of an HDF5
 * file. dataset: the user's name, or NULL. AMPED_USAGE if a dataset is named and
 * the file is not an HDF5 file of dense tensors. */
amped_status amped_dense_source_is(const char *path, const char *dataset, bool *out);

/* Open, as amped_dense_file_open and amped_npy_open do. A line says that a file is of MATLAB, with
 * reversed modes. AMPED_USAGE if a dataset is named and the file is not HDF5. *out is NULL on
 * failure. */
amped_status amped_dense_source_open(const char *path, const char *dataset,
                                     amped_dense_source **out);
void amped_dense_source_close(amped_dense_source *source); /* NULL is allowed */
/* Borrowed. */
const amped_dense_info *amped_dense_source_info(const amped_dense_source *source);
const char *amped_dense_source_path(const amped_dense_source *source);
/* Get names and labels of all modes from the file; the user may replace them. axes may be NULL.
 * Errors as amped_axes_label. labels: [order]; free each with amped_labels_free, also after a
 * failure. */
amped_status amped_dense_source_labels(amped_dense_source *source, const amped_axis_options *axes,
                                       amped_labels *labels);
/* The path of the dataset; NULL if the file is not HDF5. Borrowed. */
const char *amped_dense_source_dataset(const amped_dense_source *source);
/* Is it a MATLAB file, with reversed modes? */
bool amped_dense_source_is_matlab(const amped_dense_source *source);
/* Have its dimensions coordinates of their own (netCDF), which are not read? */
bool amped_dense_source_has_scales(const amped_dense_source *source);

/* Read like this from now on; at first missing cells are refused. zeroed: number of cells that were
 * read as 0 because they are missing or infinite. */
void amped_dense_source_set_missing(amped_dense_source *source, amped_missing_cells missing);
amped_missing_cells amped_dense_source_missing(const amped_dense_source *source);
uint64_t amped_dense_source_zeroed(const amped_dense_source *source);

/* Cells read so far, except missing ones, that a double does not hold. Borrowed. */
const amped_cut_integers *amped_dense_source_cut(const amped_dense_source *source);

/* Both reads return AMPED_BAD_INPUT, with the index, if a cell is refused.
 *
 * Read cells first .. first + count, in memory order, of the slab with slab_mode restricted to
 * slab_first .. slab_first + slab_count, into the caller's memory. */
amped_status amped_dense_source_read(amped_dense_source *source, int slab_mode, uint64_t slab_first,
                                     uint64_t slab_count, uint64_t first, uint64_t count,
                                     void *cells);

/* Read cells first .. first + count of the whole tensor, numbered in C's order of the modes, into
 * the caller's memory. If the file has another layout, it is read in strides: use large ranges. */
amped_status amped_dense_source_read_c(amped_dense_source *source, uint64_t first, uint64_t count,
                                       void *cells);

/* Get the values of `count` cells of the whole tensor that were read with AMPED_MISSING_KEEP: NaN
 * for a missing cell. first: number of cells[0] in the order of `layout`. AMPED_BAD_INPUT, with the
 * index, if a cell is infinite. */
amped_status amped_dense_source_values(const amped_dense_source *source, const int *layout,
                                       uint64_t first, uint64_t count, const void *cells,
                                       double *values);

#endif
