/* Writer of a tensor file whose nonzeros come in pieces; amped_tensor_file_write does the same for
 * a tensor in memory. The same nonzeros give the same bytes, for any division into pieces.
 *
 * Calls: create; for every copy { begin; append until all nonzeros are there; end }; finish.
 *
 * The file is written under a temporary name; finish flushes and renames it, discard (NULL is
 * allowed) removes it. Both free the writer. Shows progress from create to either of them. Host
 * memory; not collective; one thread. */
#ifndef AMPED_TENSOR_WRITE_H
#define AMPED_TENSOR_WRITE_H

#include "hdf5/tensor_file.h"

typedef struct amped_tensor_writer amped_tensor_writer;

/* info has all but index_types and partitions; has_copies: one copy for each mode, else the root's
 * list alone. info and its dictionary are borrowed until the end. Fails before writing where the
 * disk has not enough room. */
amped_status amped_tensor_writer_create(const char *path, const amped_tensor_info *info,
                                        const amped_labels *labels, amped_tensor_writer **out);
/* Begin the copy of mode 0, 1, ...; a file without copies has mode 0 alone. */
amped_status amped_tensor_writer_begin(amped_tensor_writer *w, int mode);
/* Append the next nonzeros in the order of the copy. */
amped_status amped_tensor_writer_append(amped_tensor_writer *w, const amped_sptensor *t);
/* End the copy. *used is the number of distinct indices in its mode. */
amped_status amped_tensor_writer_end(amped_tensor_writer *w, uint64_t *used);
amped_status amped_tensor_writer_finish(amped_tensor_writer *w, const amped_labels *labels);
void amped_tensor_writer_discard(amped_tensor_writer *w);

/* The most bytes of such a file; labels may be NULL. */
uint64_t amped_tensor_file_bytes(const amped_tensor_info *info, const amped_labels *labels);

#endif
