/* Writing a tensor file whose nonzeros come in pieces: what amped_tensor_file_write does for a
 * tensor in memory. The same nonzeros give the same bytes, however they are cut.
 *
 *   create; for every copy { begin; append until all nonzeros came; end }; finish
 *
 * The file goes to a temporary name beside its path, which finish flushes and renames; discard
 * (NULL is allowed) drops it. Shows progress from create to either of them. One thread. */
#ifndef AMPED_TENSOR_WRITE_H
#define AMPED_TENSOR_WRITE_H

#include "hdf5/tensor_file.h"

typedef struct amped_tensor_writer amped_tensor_writer;

/* info tells all but index_types and partitions (has_copies: one copy a mode, or the root's list
 * alone); it and its dictionary are borrowed until the end. Refuses before it writes where the disk
 * has not enough room. */
amped_status amped_tensor_writer_create(const char *path, const amped_tensor_info *info,
                                        amped_tensor_writer **out);
/* mode: 0, 1, ...; of a file without copies 0 alone. */
amped_status amped_tensor_writer_begin(amped_tensor_writer *w, int mode);
/* The nonzeros that follow in the copy's order. */
amped_status amped_tensor_writer_append(amped_tensor_writer *w, const amped_sptensor *t);
/* *used: different indices that occur in the copy's mode. */
amped_status amped_tensor_writer_end(amped_tensor_writer *w, uint64_t *used);
amped_status amped_tensor_writer_finish(amped_tensor_writer *w, const amped_labels *labels);
void amped_tensor_writer_discard(amped_tensor_writer *w);

/* Bytes that such a file takes at most, labels not counted. */
uint64_t amped_tensor_file_bytes(const amped_tensor_info *info);

#endif
