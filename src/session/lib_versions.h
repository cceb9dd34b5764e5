/* Libraries: which versions of those beneath it the program runs with, for people who look into a
 * system's set-up. */
#ifndef AMPED_LIBRARIES_H
#define AMPED_LIBRARIES_H

#include "base/status.h"

typedef struct amped_libraries {
  char hdf5[32];       /* of the library that is loaded, "1.10.8" */
  char hdf5_built[32]; /* of its header when the program was compiled */
  char blas[128];      /* what the library calls itself, or "" where it has no name that we know */
  char blas_file[512]; /* the file that CBLAS was loaded from, or "" */
} amped_libraries;

amped_status amped_libraries_get(amped_libraries *out);

#endif
