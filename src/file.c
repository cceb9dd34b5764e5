#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "mem.h"

/* The directory part of a path, amped_alloc'd. */
static amped_status directory_of(const char *path, char **out) {
  const char *slash = strrchr(path, '/');
  if (slash == NULL)
    return amped_strdup(out, ".");
  size_t length = slash == path ? 1 : (size_t)(slash - path);
  AMPED_TRY(amped_alloc(out, length + 1, 1, "a path"));
  memcpy(*out, path, length);
  (*out)[length] = '\0';
  return AMPED_OK;
}

amped_status amped_file_temporary(const char *path, char **out) {
  struct stat st;
  char *directory = NULL;
  AMPED_TRY(directory_of(path, &directory));
  amped_status status = AMPED_OK;
  if (stat(directory, &st) != 0)
    status = amped_error_errno(AMPED_FAILED, errno, path,
                               "cannot be written; create its directory or name another");
  else if (access(directory, W_OK | X_OK) != 0)
    status =
        amped_error_errno(AMPED_FAILED, errno, path, "its directory is not writable; name another");
  else if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
    status = amped_error(AMPED_FAILED, path, "is a directory; name a file");
  else if (stat(path, &st) == 0 && !S_ISREG(st.st_mode)) /* the rename would replace a device */
    status = amped_error(AMPED_FAILED, path, "is not a regular file; name another");
  amped_free(directory);
  AMPED_TRY(status);
  uint64_t bytes = strlen(path) + 32;
  AMPED_TRY(amped_alloc(out, bytes, 1, "a path"));
  (void)snprintf(*out, bytes, "%s.tmp.%ld", path, (long)getpid());
  return AMPED_OK;
}

static int flush_path(const char *path, int flags) {
  int fd = open(path, flags | O_CLOEXEC);
  if (fd < 0)
    return errno;
  int failed = fsync(fd) != 0 ? errno : 0;
  (void)close(fd);
  return failed;
}

amped_status amped_file_commit(const char *temporary, const char *path) {
  char *directory = NULL;
  int failed = flush_path(temporary, O_RDONLY);
  if (failed == 0 && rename(temporary, path) != 0)
    failed = errno;
  if (failed != 0) {
    amped_file_discard(temporary);
    return amped_error_errno(AMPED_FAILED, failed, path,
                             "cannot be written; free disk space or name another file");
  }
  AMPED_TRY(directory_of(path, &directory));
  /* Some file systems cannot flush a directory; the file itself is safe by now. */
  (void)flush_path(directory, O_RDONLY | O_DIRECTORY);
  amped_free(directory);
  return AMPED_OK;
}

void amped_file_discard(const char *temporary) {
  if (temporary != NULL)
    (void)unlink(temporary);
}

amped_status amped_file_check_readable(const char *path, uint64_t *bytes) {
  struct stat st;
  if (stat(path, &st) != 0)
    return amped_error_errno(AMPED_BAD_INPUT, errno, path, "cannot be read; check its name");
  if (S_ISDIR(st.st_mode))
    return amped_error(AMPED_BAD_INPUT, path, "is a directory; name a file");
  if (access(path, R_OK) != 0)
    return amped_error_errno(AMPED_BAD_INPUT, errno, path, "cannot be read; check its permissions");
  if (S_ISREG(st.st_mode) && st.st_size == 0)
    return amped_error(AMPED_BAD_INPUT, path, "is empty; make it again");
  if (bytes != NULL)
    *bytes = S_ISREG(st.st_mode) ? (uint64_t)st.st_size : 0;
  return AMPED_OK;
}

bool amped_file_same(const char *a, const char *b) {
  struct stat x;
  struct stat y;
  return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}
