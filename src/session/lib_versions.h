/* Library versions: HDF5 and BLAS as found at run time, for users who check the set-up of a
 * system. */
#ifndef AMPED_LIB_VERSIONS_H
#define AMPED_LIB_VERSIONS_H

#include "base/status.h"

typedef struct amped_lib_versions {
  char hdf5[32];       /* version of the loaded library, "1.10.8" */
  char hdf5_built[32]; /* version of the header at compile time */
  char blas[128];      /* the library's own name and version, or "" if not known */
  char blas_file[512]; /* the file that CBLAS was loaded from, or "" */
} amped_lib_versions;

/* Not collective. Returns AMPED_FAILED if HDF5 does not report its version. */
amped_status amped_lib_versions_get(amped_lib_versions *out);

#endif
