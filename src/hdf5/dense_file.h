/* Dense file: a dense tensor in an HDF5 file.
 *
 * Of our own files the dataset /dense: N dimensions in C's order, chunks of whole rows up to 2^20
 * cells, Fletcher-32, and root attributes as a tensor file's (nnz: cells that are not 0; norm and
 * hash over these, by the rule of sptensor.h). Of any other file the dataset that the caller names,
 * or the only one of 3 to 8 dimensions. MATLAB's files (v7.3) are such files; their modes come
 * reversed. Cells are integers or floats (cell_type.h), in any byte order. The file is untrusted:
 * the probe has opened it (hdf5_probe.h) before. Not collective; one thread at a time. */
#ifndef AMPED_DENSE_FILE_H
#define AMPED_DENSE_FILE_H

#include "hdf5/hdf5_file.h"
#include "tensor/dense_info.h"

typedef struct amped_dense_file amped_dense_file;

/* Does the file, which the probe has passed, hold a dense tensor to decompose, and no sparse one? A
 * result, a state or another of our own files is neither. `dataset` as for open. */
amped_status amped_dense_file_is(const char *path, const char *dataset, bool *out);

/* dataset: its path, or NULL. AMPED_USAGE: several datasets would do (all are listed), or no such
 * dataset. AMPED_BAD_INPUT: complex or other types, 1, 2 or more than 8 dimensions, no cells,
 * damage. *out is NULL on failure. */
amped_status amped_dense_file_open(const char *path, const char *dataset, amped_dense_file **out);
void amped_dense_file_close(amped_dense_file *file); /* NULL is allowed */
/* Borrowed. */
const amped_dense_info *amped_dense_file_info(const amped_dense_file *file);
const char *amped_dense_file_dataset(const amped_dense_file *file);
/* Written by MATLAB: modes are reversed. */
bool amped_dense_file_is_matlab(const amped_dense_file *file);

/* The box of cells first[m] .. first[m] + count[m] of all modes m, in C's order of the box, into
 * the caller's memory. Values that are not finite are the caller's business. */
amped_status amped_dense_file_read(amped_dense_file *file, const uint64_t *first,
                                   const uint64_t *count, void *cells);

/* A file that is being written: a draft (base/draft.h), published by publish. Cells come in C's
 * order without gaps, of info->type; statistics are gathered on the way and stand in the
 * attributes. */
typedef struct amped_dense_writer amped_dense_writer;
/* info is copied; its statistics are not used. layout is C's. */
amped_status amped_dense_writer_create(const char *path, const amped_dense_info *info,
                                       amped_dense_writer **out);
/* AMPED_BAD_INPUT with the index where a cell is not finite. */
amped_status amped_dense_writer_append(amped_dense_writer *writer, uint64_t count,
                                       const void *cells);
/* Borrowed; with statistics of the cells that were appended. */
const amped_dense_info *amped_dense_writer_info(amped_dense_writer *writer);
/* Frees the writer. publish: all cells were written; the file is flushed and takes its name. */
amped_status amped_dense_writer_publish(amped_dense_writer *writer);
void amped_dense_writer_discard(amped_dense_writer *writer); /* NULL is allowed */

#endif
