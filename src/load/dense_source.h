/* Dense source: the file that a dense tensor is read from, HDF5 (dense_file.h) or npy (io_npy.h).
 * Not collective: each rank that reads has its own. One thread at a time. */
#ifndef AMPED_DENSE_SOURCE_H
#define AMPED_DENSE_SOURCE_H

#include "base/status.h"
#include "tensor/dense_info.h"

typedef struct amped_dense_source amped_dense_source;

/* By its suffix: an HDF5 file, which the caller has probed before `is` and `open`. */
bool amped_dense_source_is_hdf5(const char *path);

/* Is it a file that a dense source opens? By the name's suffix: .npy; of .h5, .hdf5 and .mat by
 * what the file, which the probe has passed, holds. dataset: what the user names, or NULL.
 * AMPED_USAGE: one is named, and the file is no HDF5 file of dense tensors. */
amped_status amped_dense_source_is(const char *path, const char *dataset, bool *out);

/* As amped_dense_file_open and amped_npy_open. AMPED_USAGE: a dataset is named and the file is not
 * HDF5. *out is NULL on failure. */
amped_status amped_dense_source_open(const char *path, const char *dataset,
                                     amped_dense_source **out);
void amped_dense_source_close(amped_dense_source *source); /* NULL is allowed */
/* Borrowed. */
const amped_dense_info *amped_dense_source_info(const amped_dense_source *source);
const char *amped_dense_source_path(const amped_dense_source *source);
/* The path of its dataset; NULL: it is no HDF5 file. Borrowed. */
const char *amped_dense_source_dataset(const amped_dense_source *source);
/* Of a MATLAB file, whose modes are reversed. */
bool amped_dense_source_is_matlab(const amped_dense_source *source);

/* From now on cells that are not finite are read as 0, and counted. */
void amped_dense_source_nan_zero(amped_dense_source *source);
uint64_t amped_dense_source_zeroed(const amped_dense_source *source);

/* Cells first .. first + count, as they lie in memory, of the slab whose mode slab_mode is
 * restricted to slab_first .. slab_first + slab_count, into the caller's memory. AMPED_BAD_INPUT
 * with the index where one is not finite. */
amped_status amped_dense_source_read(amped_dense_source *source, int slab_mode, uint64_t slab_first,
                                     uint64_t slab_count, uint64_t first, uint64_t count,
                                     void *cells);

/* The same of the whole tensor, in C's order of the modes whatever the layout is. Of another layout
 * the file is read in strides: give large ranges. */
amped_status amped_dense_source_read_c(amped_dense_source *source, uint64_t first, uint64_t count,
                                       void *cells);

#endif
