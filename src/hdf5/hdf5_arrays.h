/* Arrays: the datasets of 3 to 8 dimensions that hard links of an HDF5 file lead to. Not
 * collective; one thread at a time. */
#ifndef AMPED_HDF5_ARRAYS_H
#define AMPED_HDF5_ARRAYS_H

#include "hdf5/hdf5_file.h"

/* name: its path, or one of several, borrowed. Any status but AMPED_OK ends the visit. */
typedef amped_status amped_hdf5_array_visit(void *self, amped_hdf5 *file, const char *name);

/* Call visit for each of them. AMPED_BAD_INPUT where the file has more than 65536 links. Paths of
 * AMPED_HDF5_NAME bytes or more are passed over. */
amped_status amped_hdf5_arrays(amped_hdf5 *file, amped_hdf5_array_visit *visit, void *self);

/* Does the path, of hard links, lead to a dataset? */
amped_status amped_hdf5_is_dataset(amped_hdf5 *file, const char *name, bool *out);

#endif
