/* Target: following links safely to the place of an output. */
#include "base/target.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/log.h"

#define MOST_LINKS 40

/* In addition to the numbers of errno: a link or a pipe of another user. */
#define STRANGER (-1)

/* Opens the folder of target->path, and finds the last part. Returns errno, or 0. */
static int open_folder(amped_target *t, struct stat *about) {
  char folder[PATH_MAX];
  char *slash = strrchr(t->path, '/');
  const size_t length = slash == NULL ? 0 : slash == t->path ? 1 : (size_t)(slash - t->path);
  memcpy(folder, t->path, length);
  (void)snprintf(folder + length, sizeof folder - length, "%s", length == 0 ? "." : "");
  t->name = slash != NULL ? slash + 1 : t->path;
  t->folder = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
  return t->folder >= 0 && fstat(t->folder, about) == 0 ? 0 : errno;
}

/* Is this link or pipe trusted? In a folder that everyone may write, only if it belongs to this
 * user or to the folder's owner. */
static bool is_trusted(const amped_target *t, const struct stat *folder) {
  return (folder->st_mode & S_IWOTH) == 0 || t->found.st_uid == geteuid() ||
         t->found.st_uid == folder->st_uid;
}

/* Is the target in /proc? Links in /proc lead to open files, not to names. */
static bool is_in_proc(const amped_target *t) {
  struct statfs system;
  return fstatfs(t->folder, &system) == 0 && system.f_type == PROC_SUPER_MAGIC;
}

/* Replaces the path by the link's path. Returns errno, or 0. */
static int follow(amped_target *t) {
  char link[PATH_MAX];
  const ssize_t n = readlinkat(t->folder, t->name, link, sizeof link - 1);
  if (n < 0)
    return errno;
  link[n] = '\0';
  const size_t folder = link[0] == '/' ? 0 : (size_t)(t->name - t->path);
  if (folder + (size_t)n >= sizeof t->path)
    return ENAMETOOLONG;
  memcpy(t->path + folder, link, (size_t)n + 1);
  (void)close(t->folder);
  t->folder = -1;
  return 0;
}

static int resolve(const char *path, amped_target *t) {
  struct stat folder;
  int failed = 0;
  if (strlen(path) >= sizeof t->path)
    return ENAMETOOLONG;
  memcpy(t->path, path, strlen(path) + 1);
  for (int links = 0; links <= MOST_LINKS; links++) {
    failed = open_folder(t, &folder);
    if (failed != 0)
      return failed;
    t->exists = fstatat(t->folder, t->name, &t->found, AT_SYMLINK_NOFOLLOW) == 0;
    if (t->name[0] == '\0' || (t->exists && S_ISDIR(t->found.st_mode)))
      return EISDIR;
    if (!t->exists)
      return errno == ENOENT ? 0 : errno;
    t->straight = !S_ISREG(t->found.st_mode);
    if (!t->straight)
      return 0;
    if (!is_trusted(t, &folder))
      return STRANGER;
    if (!S_ISLNK(t->found.st_mode) || is_in_proc(t))
      return 0;
    t->straight = false;
    failed = follow(t);
    if (failed != 0)
      return failed;
  }
  return ELOOP;
}

static int start(const char *path, amped_target *t) {
  memset(t, 0, sizeof *t);
  t->folder = -1;
  const int failed = resolve(path, t);
  if (failed != 0)
    amped_target_close(t);
  return failed;
}

bool amped_target_look(const char *path, amped_target *out) {
  return start(path, out) == 0;
}

amped_status amped_target_find(const char *path, amped_target *out) {
  const int failed = start(path, out);
  if (failed == STRANGER)
    return amped_error(AMPED_FAILED, path,
                       "is a link or a pipe of another user in a directory that everyone may "
                       "write; name another file");
  if (failed == EISDIR)
    return amped_error(AMPED_FAILED, path, "is a directory; name a file");
  if (failed != 0)
    return amped_error_errno(AMPED_FAILED, failed, path,
                             "cannot be written; create its directory or name another");
  return AMPED_OK;
}

void amped_target_close(amped_target *target) {
  if (target->path[0] != '\0' && target->folder >= 0)
    (void)close(target->folder);
  memset(target, 0, sizeof *target);
  target->folder = -1;
}

/* Opens descriptor N of this process, named by /dev/fd/N or similar, by duplicating it: new bytes
 * follow the bytes written there before. Returns -1 for any other name. */
static int open_own(const amped_target *t) {
  struct stat named;
  struct stat held;
  char *end = NULL;
  const long number = strtol(t->name, &end, 10);
  if (*end != '\0' || number < 0 || number > INT_MAX ||
      fstatat(t->folder, t->name, &named, 0) != 0 || fstat((int)number, &held) != 0 ||
      named.st_dev != held.st_dev || named.st_ino != held.st_ino)
    return -1;
  return fcntl((int)number, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
}

int amped_target_open_straight(const amped_target *t) {
  const bool link = S_ISLNK(t->found.st_mode);
  const int own = link ? open_own(t) : -1;
  return own >= 0 ? own
                  : openat(t->folder, t->name,
                           O_WRONLY | O_CLOEXEC | O_NOCTTY | (link ? 0 : O_NOFOLLOW));
}
