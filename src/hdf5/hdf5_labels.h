/* Labels in tensor and result files: /labels/mode_k/bytes, offsets and the attribute name. */
#ifndef AMPED_HDF5_LABELS_H
#define AMPED_HDF5_LABELS_H

#include "hdf5/hdf5_file.h"
#include "tensor/labels.h"

/* Read and check the labels of one mode of dimension dim; count 0 where the file has none. Free
 * with amped_labels_free. */
amped_status amped_hdf5_labels_read(amped_hdf5 *file, int mode, uint64_t dim, amped_labels *out);

/* Have the labels of that mode a content hash? true where it has no labels. */
amped_status amped_hdf5_labels_sealed(amped_hdf5 *file, int mode, bool *out);

/* Write the labels of all modes; modes without labels are left out. */
amped_status amped_hdf5_labels_write(amped_hdf5 *file, int order, const amped_labels *labels);

#endif
