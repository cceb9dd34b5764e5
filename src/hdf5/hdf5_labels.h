/* Labels in tensor and result files: datasets /labels/mode_k/bytes and offsets, and the attribute
 * name of /labels/mode_k.
 *
 * The root's attribute index_base is 0 if the user's files count indices from 0. The attribute
 * indices of /labels/mode_k is 1 if the labels are the user's indices, its attribute array is 1 if
 * the mode is a dimension of an array. Its attribute period is the word of the labels' period
 * (tensor/period.h). */
#ifndef AMPED_HDF5_LABELS_H
#define AMPED_HDF5_LABELS_H

#include "hdf5/hdf5_file.h"
#include "tensor/labels.h"

/* Read and check the labels of one mode of dimension dim; count is 0 if the mode has none. Free
 * with amped_labels_free. AMPED_FAILED if they do not fit into free memory. */
amped_status amped_hdf5_labels_read(amped_hdf5 *file, int mode, uint64_t dim, amped_labels *out);

/* Bytes of memory for the labels of a mode; 0 if it has none. */
amped_status amped_hdf5_labels_bytes(amped_hdf5 *file, int mode, uint64_t dim, uint64_t *out);

/* Most bytes of a picked label; the rest is cut off. */
#define AMPED_LABEL_MOST (UINT64_C(1) << 16)

/* Read and check all labels of a mode, in pieces, and keep some. pick: label i of `out` belongs to
 * index places[i]; places ascend and are distinct. edges: the first and the last label, or one
 * label if dim is 1. */
amped_status amped_hdf5_labels_pick(amped_hdf5 *file, int mode, uint64_t dim,
                                    const uint64_t *places, uint64_t count, amped_labels *out);
amped_status amped_hdf5_labels_edges(amped_hdf5 *file, int mode, uint64_t dim, amped_labels *out);

/* Do the labels of this mode have a content hash? Returns true if the mode has no labels. */
amped_status amped_hdf5_labels_sealed(amped_hdf5 *file, int mode, bool *out);

/* Upper bound on the labels' bytes in a file; labels may be NULL. */
uint64_t amped_hdf5_labels_file_bytes(int order, const amped_labels *labels);
/* Write the labels of all modes; modes without labels are skipped. */
amped_status amped_hdf5_labels_write(amped_hdf5 *file, int order, const amped_labels *labels);

#endif
