/* Labels in tensor and result files: /labels/mode_k/bytes, offsets and the attribute name. */
#ifndef AMPED_HDF5_LABELS_H
#define AMPED_HDF5_LABELS_H

#include "hdf5/hdf5_file.h"
#include "tensor/labels.h"

/* The labels of one mode of dimension dim, checked; count 0 where the file has none. */
amped_status amped_hdf5_labels_read(amped_hdf5 *file, int mode, uint64_t dim, amped_labels *out);

/* All modes' labels; nothing at all where there are none. */
amped_status amped_hdf5_labels_write(amped_hdf5 *file, int order, const amped_labels *labels);

#endif
