/* Tensor file: HDF5, version 1 (docs/file-format.md); also any binsparse N-d COO file.
 *
 * The file is untrusted. Every property is checked before it is used, and extents are compared with
 * the stored data before any allocation. The following are refused: filters other than deflate,
 * shuffle and fletcher32; external storage; soft and external links; virtual datasets. A bad file
 * is AMPED_BAD_INPUT. One line names the file, the dataset or attribute, and the remedy.
 *
 * Host memory. Not collective. Only one thread of a process may call it at a time, since HDF5 is
 * not thread-safe. */
#ifndef AMPED_TENSOR_FILE_H
#define AMPED_TENSOR_FILE_H

#include "tensor/cut_integers.h"
#include "tensor/overflow.h"
#include "tensor/tensor_info.h"

typedef struct amped_tensor_file amped_tensor_file;

/* Open for reading and check all metadata, including the iDp tables. The tables are in the info
 * only after amped_tensor_file_tables; AMPED_FAILED if they do not fit into free memory.
 * norm_squared and hash are 0 in files of other programs, which do not store them. The info belongs
 * to the file. */
amped_status amped_tensor_file_open(const char *path, amped_tensor_file **out);
void amped_tensor_file_close(amped_tensor_file *file);
const amped_tensor_info *amped_tensor_file_info(const amped_tensor_file *file);
amped_status amped_tensor_file_tables(amped_tensor_file *file);

/* Read nonzeros first .. first+count of mode's copy, or of the root's list with mode -1, into the
 * caller's arrays: indices[m] of info->index_types[m], values of info->value_type. Checks that
 * every index is within dims, that the rows of a copy ascend, and that every value is finite.
 *
 * Nonzeros that are read in order, from the first to the last of a copy, are hashed. If the file
 * has a hash and theirs differs, reading the last one returns AMPED_BAD_INPUT. A caller that uses
 * nonzeros before the last is read calls amped_tensor_file_check first. */
amped_status amped_tensor_file_read(amped_tensor_file *file, int mode, uint64_t first,
                                    uint64_t count, void *const *indices, void *values);
/* Read without hashing, for ranks that read parts or hash nonzeros on arrival. The caller compares
 * the sum of all ranks' hashes with info->hash. */
amped_status amped_tensor_file_read_part(amped_tensor_file *file, int mode, uint64_t first,
                                         uint64_t count, void *const *indices, void *values);
/* Read a whole copy to check its hash. */
amped_status amped_tensor_file_check(amped_tensor_file *file, int mode);

/* The first value read so far, of a list of integers, that a double does not hold; count 1. A
 * warning names it when the file is closed, unless it is taken before. */
amped_cut_integers amped_tensor_file_take_cut(amped_tensor_file *file);

/* Read the labels of one mode; count is 0 if it has none. Free with amped_labels_free. */
amped_status amped_tensor_file_labels(amped_tensor_file *file, int mode, amped_labels *out);

/* Read and check all labels of a mode, in pieces; keep the first and the last
 * (hdf5/hdf5_labels.h). */
amped_status amped_tensor_file_label_edges(amped_tensor_file *file, int mode, amped_labels *out);
/* Bytes of memory for the labels of all modes. */
amped_status amped_tensor_file_label_bytes(amped_tensor_file *file, uint64_t *out);

/* Load the whole coordinate list, with labels, and validate it; for files with or without copies.
 * may_be_empty: a list without nonzeros is accepted; *out has its order and dims, and nnz 0.
 * AMPED_BAD_INPUT if the file has a hash that differs from its nonzeros'.
 *
 * Nonzeros that do not fit in the memory of `overflow` are passed to it; NULL: memory has no limit.
 * Free with amped_sptensor_free. */
amped_status amped_tensor_file_load(const char *path, bool may_be_empty,
                                    const amped_overflow *overflow, amped_sptensor *out);

/* Write a tensor file with one ordered copy per mode, or only a coordinate list. The tensor must be
 * valid and sorted by mode 0. The file is written under a temporary name, flushed and renamed, so
 * `path` is always the old or the new file. Shows progress. */
amped_status amped_tensor_file_write(const char *path, const amped_sptensor *t, bool copies);

/* Read and check the whole file: order, ranges, iDp tables, norm, hashes, labels. In files of other
 * programs, only ranges, values and labels can be checked. */
amped_status amped_tensor_file_verify(amped_tensor_file *file);

/* Do all labels and tables of the file have a content hash? Files of earlier builds have none. */
amped_status amped_tensor_file_sealed(amped_tensor_file *file, bool *out);

#endif
