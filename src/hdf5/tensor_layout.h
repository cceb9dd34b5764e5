/* Names in tensor files, and opening without a probe: shared by the reader and the writer. */
#ifndef AMPED_TENSOR_LAYOUT_H
#define AMPED_TENSOR_LAYOUT_H

#include "hdf5/hdf5_file.h"
#include "hdf5/tensor_file.h"

#define AMPED_TENSOR_VERSION 1
#define AMPED_TENSOR_DENSE "/dense"
#define AMPED_TENSOR_DICTIONARY "/amped/distinct_values"

/* "/amped/mode_2", or "" for the root's coordinate list (mode -1). */
typedef struct amped_tensor_folder {
  char name[AMPED_HDF5_NAME / 2];
} amped_tensor_folder;
amped_tensor_folder amped_tensor_folder_of(int mode);

/* "/amped/mode_2/values", or "/indices_0": i >= 0 is appended as _i. */
typedef struct amped_tensor_name {
  char name[AMPED_HDF5_NAME];
} amped_tensor_name;
amped_tensor_name amped_tensor_name_of(int mode, const char *what, int i);

/* amped_tensor_file_open for a file that this process has just written, with its descriptor
 * (borrowed); messages name `path`. */
amped_status amped_tensor_file_open_trusted(int fd, const char *path, amped_tensor_file **out);

/* amped_tensor_file_open, also for a list without nonzeros. */
amped_status amped_tensor_file_open_any(const char *path, amped_tensor_file **out);

/* Of a file of ours: is it a tensor, and of this version? Its norm, which is finite. */
amped_status amped_tensor_check_version(amped_hdf5 *file);
amped_status amped_tensor_read_norm(amped_hdf5 *file, double *norm_squared);

/* The file behind it. */
amped_hdf5 *amped_tensor_file_hdf5(amped_tensor_file *file);

/* The file's name in messages. */
const char *amped_tensor_file_path(const amped_tensor_file *file);

#endif
