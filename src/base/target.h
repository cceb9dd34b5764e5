/* Target: the place of an output, behind the links that the user named.
 *
 * Symbolic links are followed, and the output lies at their end, where it is written, locked and
 * renamed. In a folder that everyone may write, a link or a pipe of another user is refused,
 * because its owner could choose where the bytes go; the folder's owner is trusted. */
#ifndef AMPED_TARGET_H
#define AMPED_TARGET_H

#include <limits.h>
#include <stdbool.h>
#include <sys/stat.h>

#include "base/status.h"

typedef struct amped_target {
  char path[PATH_MAX]; /* folder and name, without a link as its last part */
  const char *name;    /* its last part */
  int folder;          /* descriptor of the folder (O_PATH); -1: none */
  bool straight;       /* a pipe, a device or an open descriptor: bytes go straight into it */
  bool exists;
  struct stat found; /* if it exists; for a descriptor in /proc: of the link */
} amped_target;

/* AMPED_FAILED if the folder is missing, the place is a folder, or another user's link leads to it.
 * On failure there is nothing to close. Not collective; any thread. */
amped_status amped_target_find(const char *path, amped_target *out);

/* amped_target_find that returns false and records no error. */
bool amped_target_look(const char *path, amped_target *out);

/* Accepts a zeroed target: its path is "". */
void amped_target_close(amped_target *target);

/* A descriptor that writes into a straight target; -1, with errno, on failure. */
int amped_target_open_straight(const amped_target *target);

#endif
