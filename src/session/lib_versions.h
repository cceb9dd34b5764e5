/* Libraries: which versions of those beneath it the program runs with, for people who look into a
 * system's set-up. */
#ifndef AMPED_LIB_VERSIONS_H
#define AMPED_LIB_VERSIONS_H

#include "base/status.h"

typedef struct amped_lib_versions {
  char hdf5[32];       /* of the library that is loaded, "1.10.8" */
  char hdf5_built[32]; /* of its header when the program was compiled */
  char blas[128];      /* what the library calls itself, or "" where it has no name that we know */
  char blas_file[512]; /* the file that CBLAS was loaded from, or "" */
} amped_lib_versions;

amped_status amped_lib_versions_get(amped_lib_versions *out);

#endif
