/* Tensor files: names of objects, and opening without a probe; shared by reader and writer. */
#ifndef AMPED_TENSOR_LAYOUT_H
#define AMPED_TENSOR_LAYOUT_H

#include "hdf5/hdf5_file.h"
#include "formats/tensor_file.h"

#define AMPED_TENSOR_VERSION 1
#define AMPED_TENSOR_DENSE "/dense"
#define AMPED_TENSOR_DICTIONARY "/amped/distinct_values"

/* Name of a copy's group, such as "/amped/mode_2"; "" for the root's coordinate list (mode -1). */
typedef struct amped_tensor_folder {
  char name[AMPED_HDF5_NAME / 2];
} amped_tensor_folder;
amped_tensor_folder amped_tensor_folder_of(int mode);

/* Name of a dataset, such as "/amped/mode_2/values" or "/indices_0". i >= 0 is appended as _i. */
typedef struct amped_tensor_name {
  char name[AMPED_HDF5_NAME];
} amped_tensor_name;
amped_tensor_name amped_tensor_name_of(int mode, const char *what, int i);

/* Open, as amped_tensor_file_open, a file that this process has just written. Its descriptor is
 * borrowed; messages name `path`. */
amped_status amped_tensor_file_open_trusted(int fd, const char *path, amped_tensor_file **out);

/* Open, as amped_tensor_file_open, a file that may have no nonzeros. */
amped_status amped_tensor_file_open_any(const char *path, amped_tensor_file **out);

/* For files of this program. check_version: AMPED_BAD_INPUT unless the file is a tensor of this
 * version. read_norm: the squared norm, which must be finite. */
amped_status amped_tensor_check_version(amped_hdf5 *file);
amped_status amped_tensor_read_norm(amped_hdf5 *file, double *norm_squared);

/* Underlying HDF5 file. */
amped_hdf5 *amped_tensor_file_hdf5(amped_tensor_file *file);

/* File name in messages. */
const char *amped_tensor_file_path(const amped_tensor_file *file);

#endif
