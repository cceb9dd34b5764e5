/* Finds the versions of HDF5 and BLAS in the running process. */
#include "session/lib_versions.h"

#include <cblas.h>
#include <dlfcn.h>
#include <hdf5.h>
#include <stdio.h>
#include <string.h>

/* Get the name and version of BLAS. Each library with the CBLAS interface has its own function for
 * it. */
static void name_blas(char *name, size_t size) {
  static const char *const functions[] = {"openblas_get_config", "bli_info_get_version_str"};
  static const char *const prefixes[] = {"", "BLIS "}; /* OpenBLAS includes its own name */
  for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
    void *found = dlsym(RTLD_DEFAULT, functions[i]);
    const char *(*function)(void) = NULL;
    if (found == NULL)
      continue;
    memcpy(&function, &found, sizeof function); /* POSIX allows this cast; ISO C does not */
    (void)snprintf(name, size, "%s%s", prefixes[i], function());
    return;
  }
}

/* Find the file of the library that provides CBLAS. */
static void find_blas(char *file, size_t size) {
  Dl_info info;
  void *found = dlsym(RTLD_DEFAULT, "cblas_dgemm");
  if (found != NULL && dladdr(found, &info) != 0 && info.dli_fname != NULL)
    (void)snprintf(file, size, "%s", info.dli_fname);
}

amped_status amped_lib_versions_get(amped_lib_versions *out) {
  unsigned major = 0;
  unsigned minor = 0;
  unsigned release = 0;
  memset(out, 0, sizeof *out);
  if (H5get_libversion(&major, &minor, &release) < 0)
    return amped_error(AMPED_FAILED, "HDF5", "does not report its version; check its installation");
  (void)snprintf(out->hdf5, sizeof out->hdf5, "%u.%u.%u", major, minor, release);
  (void)snprintf(out->hdf5_built, sizeof out->hdf5_built, "%d.%d.%d", H5_VERS_MAJOR, H5_VERS_MINOR,
                 H5_VERS_RELEASE);
  name_blas(out->blas, sizeof out->blas);
  find_blas(out->blas_file, sizeof out->blas_file);
  return AMPED_OK;
}
