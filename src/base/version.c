/* Version: constants from the build. */
#include "base/version.h"

#ifndef PACKAGE_VERSION
#define PACKAGE_VERSION "unknown"
#endif
#ifndef AMPED_GIT_VERSION
#define AMPED_GIT_VERSION ""
#endif

const char *amped_version(void) {
  return PACKAGE_VERSION;
}

const char *amped_revision(void) {
  return AMPED_GIT_VERSION;
}
