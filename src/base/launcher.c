/* Launcher: environment variables of Open MPI, other PMI launchers and Slurm. */
#include "base/launcher.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* The number in the first of these variables that holds one; -1 if none does. */
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
  static const char *const own[] = {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID",
                                    "MV2_COMM_WORLD_LOCAL_RANK", NULL};
  static const char *const ranks[] = {"PMIX_RANK", "PMI_RANK", NULL};
  static const char *const slurm_rank[] = {"SLURM_PROCID", NULL};
  static const char *const slurm_local[] = {"SLURM_LOCALID", NULL};
  int local_rank = number_of_variable(own);
  int rank = number_of_variable(ranks);
  /* srun's numbers describe this process only if srun gave it its rank. Otherwise they describe
   * mpirun. */
  if (local_rank < 0 && rank >= 0 && rank == number_of_variable(slurm_rank))
    local_rank = number_of_variable(slurm_local);
  return local_rank;
}

int amped_launcher_rank(void) {
  static const char *const names[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK",
                                      "SLURM_PROCID", NULL};
  return number_of_variable(names);
}

bool amped_launcher_is_mpirun(void) {
  static enum { UNKNOWN, YES, NO } known = UNKNOWN;
  if (known == UNKNOWN)
    known = getenv("OMPI_COMM_WORLD_RANK") != NULL ? YES : NO;
  return known == YES;
}

/* Does the parent process, mpirun or its daemon on another node, write to a terminal? */
static bool parent_shows(int fd) {
  char path[64];
  struct stat file;
  (void)snprintf(path, sizeof path, "/proc/%ld/fd/%d", (long)getppid(), fd);
  if (stat(path, &file) != 0 || !S_ISCHR(file.st_mode)) /* only a device may be opened here */
    return false;
  int own = open(path, O_WRONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
  bool shows = own >= 0 && isatty(own) == 1;
  if (own >= 0)
    (void)close(own);
  return shows;
}

bool amped_launcher_shows(int fd) {
  return amped_launcher_is_mpirun() ? parent_shows(fd) : isatty(fd) == 1;
}
