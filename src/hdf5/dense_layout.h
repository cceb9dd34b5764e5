/* Dense files: types of cells in HDF5, and opening without a probe; shared by the reader and the
 * writer. */
#ifndef AMPED_DENSE_LAYOUT_H
#define AMPED_DENSE_LAYOUT_H

#include "hdf5/dense_file.h"

/* The type that cells have in HDF5. */
amped_hdf5_type amped_dense_element(amped_cell_type type);

/* amped_dense_file_open for a file that this process has just written, with its descriptor
 * (borrowed); messages name `path`. */
amped_status amped_dense_file_open_trusted(int fd, const char *path, amped_dense_file **out);

#endif
