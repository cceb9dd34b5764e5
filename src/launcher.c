#include "launcher.h"

#include <stdlib.h>

/* The number that the first of these variables that is set holds, -1 where none is. */
static int number_of_variable(const char *const *names) {
  for (; *names != NULL; names++) {
    const char *text = getenv(*names);
    char *end = NULL;
    long n = text != NULL ? strtol(text, &end, 10) : -1;
    if (text != NULL && end != text && *end == '\0' && n >= 0 && n < 1 << 24)
      return (int)n;
  }
  return -1;
}

int amped_launcher_local_rank(void) {
  static const char *const names[] = {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID",
                                      "MV2_COMM_WORLD_LOCAL_RANK", NULL};
  return number_of_variable(names);
}

int amped_launcher_rank(void) {
  static const char *const names[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK",
                                      "SLURM_PROCID", NULL};
  return number_of_variable(names);
}
