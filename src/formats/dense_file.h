/* Dense file: a dense tensor in an HDF5 file.
 *
 * In our own files it is the dataset /dense: N dimensions in C order, chunks of whole rows up to
 * 2^20 cells, Fletcher-32 checksums. The root has the attributes of a tensor file: nnz counts the
 * cells that are not 0; norm and hash cover these cells, as in sptensor.h. Labels of modes are
 * stored as in a tensor file (hdf5/hdf5_labels.h).
 *
 * In other files it is the dataset that the caller names, or the only one of 3 to 8 dimensions;
 * a matrix must be named. This includes MATLAB's files (v7.3), whose modes are reversed. Cells are
 * integers or floats (cell_type.h), in any byte order. The file is untrusted: the probe must have
 * passed it (hdf5_probe.h). Not collective; one thread at a time. */
#ifndef AMPED_DENSE_FILE_H
#define AMPED_DENSE_FILE_H

#include "hdf5/hdf5_arrays.h"
#include "hdf5/hdf5_file.h"
#include "tensor/labels.h"
#include "tensor/dense_info.h"

typedef struct amped_dense_file amped_dense_file;

/* Does the file, which the probe has passed, hold a dense tensor and no sparse one? False for
 * results, states and other files of this program. `dataset` as for open. */
amped_status amped_dense_file_is(const char *path, const char *dataset, bool *out);

/* Open a dense tensor. dataset: its path, or NULL. AMPED_USAGE: several datasets qualify (all are
 * listed), or there is no such dataset. AMPED_BAD_INPUT: complex or other types, 1 or more than 8
 * dimensions, no cells, damage. *out is NULL on failure. */
amped_status amped_dense_file_open(const char *path, const char *dataset, amped_dense_file **out);
void amped_dense_file_close(amped_dense_file *file); /* NULL is allowed */
/* Shape of the tensor, and name of its dataset. Borrowed from file. */
const amped_dense_info *amped_dense_file_info(const amped_dense_file *file);
const char *amped_dense_file_dataset(const amped_dense_file *file);
/* Read the labels of a mode; count is 0 if it has none, as in files of other programs. Free with
 * amped_labels_free. */
amped_status amped_dense_file_labels(amped_dense_file *file, int mode, amped_labels *out);
/* Values that mean a missing cell. Borrowed. */
const amped_hdf5_convention *amped_dense_file_convention(const amped_dense_file *file);
/* Did MATLAB write the file? Its modes are reversed. */
bool amped_dense_file_is_matlab(const amped_dense_file *file);
/* Have its dimensions coordinates of their own, which are not read? */
bool amped_dense_file_has_scales(const amped_dense_file *file);

/* Read the box of cells first[m] .. first[m] + count[m] of all modes m into the caller's memory, in
 * C order of the box. Values may be infinite or NaN; the caller checks. */
amped_status amped_dense_file_read(amped_dense_file *file, const uint64_t *first,
                                   const uint64_t *count, void *cells);

/* A file being written, as a draft (base/draft.h). Cells are appended in C order without gaps, in
 * info->type. Their statistics are computed meanwhile and stored as attributes. */
typedef struct amped_dense_writer amped_dense_writer;
/* Create a draft. info is copied; its statistics are ignored, and cells are laid out in C order. */
amped_status amped_dense_writer_create(const char *path, const amped_dense_info *info,
                                       amped_dense_writer **out);
/* Append cells. AMPED_BAD_INPUT, with the index, if a cell is not finite. */
amped_status amped_dense_writer_append(amped_dense_writer *writer, uint64_t count,
                                       const void *cells);
/* Shape, with statistics of the cells appended so far. Borrowed. */
const amped_dense_info *amped_dense_writer_info(amped_dense_writer *writer);
/* Store these labels with the file when it is published: [order], borrowed until then. */
void amped_dense_writer_set_labels(amped_dense_writer *writer, const amped_labels *labels);
/* Flush the complete file, give it its name, and free the writer. All cells must have been
 * appended. */
amped_status amped_dense_writer_publish(amped_dense_writer *writer);
void amped_dense_writer_discard(amped_dense_writer *writer); /* NULL is allowed */

#endif
