/* Labels in tensor and result files: /labels/mode_k/bytes, offsets and the attribute name.
 *
 * The attribute index_base of the root, 0, is there where the user's files count from 0; the
 * attribute indices of /labels/mode_k, 1, where the labels are the user's indices. */
#ifndef AMPED_HDF5_LABELS_H
#define AMPED_HDF5_LABELS_H

#include "hdf5/hdf5_file.h"
#include "tensor/labels.h"

/* Read and check the labels of one mode of dimension dim; count 0 where the file has none. Free
 * with amped_labels_free. AMPED_FAILED where they do not fit into free memory. */
amped_status amped_hdf5_labels_read(amped_hdf5 *file, int mode, uint64_t dim, amped_labels *out);

/* The memory that they will take; 0 where there are none. */
amped_status amped_hdf5_labels_bytes(amped_hdf5 *file, int mode, uint64_t dim, uint64_t *out);

/* A label that is picked is cut behind so many bytes. */
#define AMPED_LABEL_MOST (UINT64_C(1) << 16)

/* Read and check all, in pieces, and keep some: label i of `out` is that of index places[i]. Places
 * ascend, no two of them the same. The second keeps the first and the last: two, or one where dim
 * is 1. */
amped_status amped_hdf5_labels_pick(amped_hdf5 *file, int mode, uint64_t dim,
                                    const uint64_t *places, uint64_t count, amped_labels *out);
amped_status amped_hdf5_labels_edges(amped_hdf5 *file, int mode, uint64_t dim, amped_labels *out);

/* Have the labels of that mode a content hash? true where it has no labels. */
amped_status amped_hdf5_labels_sealed(amped_hdf5 *file, int mode, bool *out);

/* The most bytes of a file that they take; labels may be NULL. */
uint64_t amped_hdf5_labels_file_bytes(int order, const amped_labels *labels);
/* Write the labels of all modes; modes without labels are left out. */
amped_status amped_hdf5_labels_write(amped_hdf5 *file, int order, const amped_labels *labels);

#endif
