/* Tensor file: HDF5, version 1, as docs/file-format.md describes; and any binsparse N-d COO file.
 *
 * Untrusted: every property is checked before it is used; extents are compared with what is
 * stored before anything is allocated; filters outside deflate, shuffle and fletcher32, external
 * storage, soft and external links and virtual datasets are refused. A bad file is AMPED_BAD_INPUT
 * with one line that names the file, the dataset or attribute, and the remedy. Not collective; one
 * thread at a time a process (HDF5 is not thread-safe). */
#ifndef AMPED_TENSOR_FILE_H
#define AMPED_TENSOR_FILE_H

#include "tensor/overflow.h"
#include "tensor/tensor_info.h"

typedef struct amped_tensor_file amped_tensor_file;

/* Open for reading and check all metadata. norm_squared and hash are 0 in files of other programs
 * (they are not stored there). */
amped_status amped_tensor_file_open(const char *path, amped_tensor_file **out);
void amped_tensor_file_close(amped_tensor_file *file);
const amped_tensor_info *amped_tensor_file_info(const amped_tensor_file *file);

/* Nonzeros first .. first+count of mode's copy, or of the root's COO with mode -1, into the
 * caller's host arrays: indices[m] of info->index_types[m], values of info->value_type. Every index
 * is checked against dims, the rows of a copy against ascending order, values for being finite. */
amped_status amped_tensor_file_read(amped_tensor_file *file, int mode, uint64_t first,
                                    uint64_t count, void *const *indices, void *values);

/* The labels of one mode; count 0 where there are none. */
amped_status amped_tensor_file_labels(amped_tensor_file *file, int mode, amped_labels *out);

/* The whole COO into memory, labels included, validated. For files with or without copies. Nonzeros
 * beyond what `overflow` (NULL: none) allows go there. */
amped_status amped_tensor_file_load(const char *path, const amped_overflow *overflow,
                                    amped_sptensor *out);

/* Write a tensor file with one ordered copy a mode, or without copies: a coordinate list alone. The
 * tensor is valid and sorted by mode 0; it is reordered in the course (left sorted by its last
 * mode). Goes to a temporary name beside `path`, is flushed and renamed: afterwards `path` is the
 * new file or what it was. Shows progress. */
amped_status amped_tensor_file_write(const char *path, amped_sptensor *t, bool copies);

/* Read everything: order, ranges, iDp tables, heavy rows, norm, hashes; of other programs' files,
 * which have none of these, ranges and values. */
amped_status amped_tensor_file_verify(amped_tensor_file *file);

#endif
