/* Dense files: element types of cells, and opening without a probe; shared by reader and writer. */
#ifndef AMPED_DENSE_LAYOUT_H
#define AMPED_DENSE_LAYOUT_H

#include "formats/dense_file.h"

/* Element type of cells in HDF5. */
amped_hdf5_type amped_dense_element(amped_cell_type type);

/* Open, as amped_dense_file_open, a file that this process has just written. Its descriptor is
 * borrowed; messages name `path`. */
amped_status amped_dense_file_open_trusted(int fd, const char *path, amped_dense_file **out);

#endif
