/* Writer of a tensor file whose nonzeros arrive in pieces; amped_tensor_file_write does the same
 * for a tensor in memory. The same nonzeros give the same bytes, however they are divided into
 * pieces.
 *
 * Calls: create; for every copy { begin; append until all nonzeros are there; end }; finish.
 *
 * The file is written under a temporary name; finish flushes and renames it, discard (NULL is
 * allowed) removes it. Both free the writer. Shows progress from create to finish or discard. Host
 * memory; not collective; one thread. */
#ifndef AMPED_TENSOR_WRITE_H
#define AMPED_TENSOR_WRITE_H

#include "formats/tensor_file.h"

typedef struct amped_tensor_writer amped_tensor_writer;

/* Create a writer. info has everything except index_types and partitions; has_copies: one copy per
 * mode, otherwise only the root's list. info and its dictionary are borrowed until the end.
 * AMPED_FAILED, before writing, if the disk has too little free space. */
amped_status amped_tensor_writer_create(const char *path, const amped_tensor_info *info,
                                        const amped_labels *labels, amped_tensor_writer **out);
/* Begin the copy of mode 0, 1, ...; a file without copies has only mode 0. */
amped_status amped_tensor_writer_begin(amped_tensor_writer *w, int mode);
/* Append the next nonzeros in the order of the copy. */
amped_status amped_tensor_writer_append(amped_tensor_writer *w, const amped_sptensor *t);
/* End the copy. *used is the number of distinct indices in its mode. */
amped_status amped_tensor_writer_end(amped_tensor_writer *w, uint64_t *used);
amped_status amped_tensor_writer_finish(amped_tensor_writer *w, const amped_labels *labels);
void amped_tensor_writer_discard(amped_tensor_writer *w);

/* Upper bound on the file bytes; labels may be NULL. */
uint64_t amped_tensor_file_bytes(const amped_tensor_info *info, const amped_labels *labels);

#endif
