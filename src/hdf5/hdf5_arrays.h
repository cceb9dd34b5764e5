/* Arrays: all datasets of 2 to 8 dimensions that are reachable by hard links in an HDF5 file, and
 * all its objects. Not collective; one thread at a time. */
#ifndef AMPED_HDF5_ARRAYS_H
#define AMPED_HDF5_ARRAYS_H

#include "hdf5/hdf5_file.h"

/* Callback for an object: a group (ndims -1) or a dataset. name: its path, or one of its paths;
 * borrowed. A status other than AMPED_OK ends the traversal. */
typedef amped_status amped_hdf5_object_visit(void *self, amped_hdf5 *file, const char *name,
                                             int ndims);

/* Call visit for each object below the root. Errors as for amped_hdf5_arrays. */
amped_status amped_hdf5_objects(amped_hdf5 *file, amped_hdf5_object_visit *visit, void *self);

/* Call visit for each array. AMPED_BAD_INPUT if the file has more than 65536 links. Paths of
 * AMPED_HDF5_NAME bytes or more are skipped. */
amped_status amped_hdf5_arrays(amped_hdf5 *file, amped_hdf5_object_visit *visit, void *self);

#define AMPED_HDF5_MISSING 8 /* most values that mean a missing cell */

/* Meaning of an array's cells, by the attributes of netCDF's conventions. */
typedef struct amped_hdf5_convention {
  const char *packed; /* the attribute by which cells are not the values; NULL: they are */
  int missing;        /* number of values that mean a missing cell; NaN is left out */
  long double values[AMPED_HDF5_MISSING]; /* integers of 8 bytes fit */
  bool has_range;                         /* cells outside least .. most are missing, too */
  long double least, most;
  bool other_sign; /* integers are of the other sign than their type: bits of a signed one are an
                      unsigned number, or reversely. The values above are converted. */
} amped_hdf5_convention;

/* Read the convention of an array in a file of another program: scale_factor, add_offset,
 * _Unsigned, _FillValue, missing_value, valid_range, valid_min, valid_max. Without _FillValue,
 * netCDF's default fill value means a missing cell if it is the dataset's own. AMPED_BAD_INPUT if
 * an attribute has more values. */
amped_status amped_hdf5_array_convention(const amped_hdf5_dataset *dataset,
                                         amped_hdf5_convention *out);

/* Does the path, through hard links only, lead to a dataset? */
amped_status amped_hdf5_is_dataset(amped_hdf5 *file, const char *name, bool *out);

#endif
