#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/heartbeat.h"

/* Bytes of one request to read ahead; kernels ignore the part of a request beyond their own
 * limit. */
#define REQUEST_BYTES (UINT64_C(128) << 10)

/* Bytes that go to the disk in one step. */
#define WRITE_BACK_BYTES ((off_t)32 << 20)

/* Bytes that go into a pipe at a time. */
#define COPY_BYTES 65536

amped_status amped_file_folder(const char *path, char **out) {
  const char *slash = strrchr(path, '/');
  if (slash == NULL)
    return amped_strdup(out, ".");
  size_t length = slash == path ? 1 : (size_t)(slash - path);
  AMPED_TRY(amped_alloc(out, length + 1, 1, "a path"));
  memcpy(*out, path, length);
  (*out)[length] = '\0';
  return AMPED_OK;
}

amped_status amped_file_previous(const char *path, char **out) {
  uint64_t bytes = strlen(path) + sizeof ".prev";
  AMPED_TRY(amped_alloc(out, bytes, 1, "a path"));
  (void)snprintf(*out, bytes, "%s.prev", path);
  return AMPED_OK;
}

bool amped_file_is_special(const char *path) {
  struct stat st;
  return stat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode);
}

bool amped_file_holds(const char *path) {
  struct stat st;
  return stat(path, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0;
}

const char *amped_file_scratch(void) {
  const char *folder = getenv("TMPDIR");
  return folder != NULL && *folder != '\0' ? folder : "/tmp";
}

/* Many users share the scratch folder: the name is random. */
static amped_status name_in_scratch(const char *path, char **out) {
  const char *folder = amped_file_scratch();
  uint64_t random = 0;
  uint64_t bytes = strlen(folder) + 64;
  if (access(path, W_OK) != 0)
    return amped_error_errno(AMPED_FAILED, errno, path, "cannot be written; name another file");
  if (getrandom(&random, sizeof random, 0) != (ssize_t)sizeof random)
    return amped_error_errno(AMPED_FAILED, errno, path, "cannot be written: no random name");
  AMPED_TRY(amped_alloc(out, bytes, 1, "a path"));
  (void)snprintf(*out, bytes, "%s/amped.%016" PRIx64 ".tmp.%ld", folder, random, (long)getpid());
  return AMPED_OK;
}

amped_status amped_file_temporary(const char *path, char **out) {
  struct stat st;
  if (amped_file_is_special(path))
    return name_in_scratch(path, out);
  char *directory = NULL;
  AMPED_TRY(amped_file_folder(path, &directory));
  amped_status status = AMPED_OK;
  if (stat(directory, &st) != 0)
    status = amped_error_errno(AMPED_FAILED, errno, path,
                               "cannot be written; create its directory or name another");
  else if (access(directory, W_OK | X_OK) != 0)
    status =
        amped_error_errno(AMPED_FAILED, errno, path, "its directory is not writable; name another");
  else if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
    status = amped_error(AMPED_FAILED, path, "is a directory; name a file");
  amped_free(directory);
  AMPED_TRY(status);
  uint64_t bytes = strlen(path) + 32;
  AMPED_TRY(amped_alloc(out, bytes, 1, "a path"));
  (void)snprintf(*out, bytes, "%s.tmp.%ld", path, (long)getpid());
  return AMPED_OK;
}

amped_status amped_file_check_writable(const char *path) {
  char *temporary = NULL;
  amped_status status = amped_file_temporary(path, &temporary);
  amped_free(temporary);
  return status;
}

bool amped_file_has_suffix(const char *path, const char *suffix) {
  size_t length = strlen(path);
  size_t n = strlen(suffix);
  return length > n && strcasecmp(path + length - n, suffix) == 0;
}

/* Write to the disk piece by piece, one heartbeat step each: a large file takes minutes. Where the
 * file system cannot do this, the flush that follows writes everything at once. */
static void write_back(int fd) {
  const unsigned how =
      SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER;
  struct stat about;
  if (fstat(fd, &about) != 0 || !S_ISREG(about.st_mode))
    return;
  for (off_t at = 0; at < about.st_size; at += WRITE_BACK_BYTES) {
    if (sync_file_range(fd, at, WRITE_BACK_BYTES, how) != 0)
      return;
    amped_heartbeat_step();
  }
}

static int flush_path(const char *path, int flags) {
  int fd = open(path, flags | O_CLOEXEC);
  if (fd < 0)
    return errno;
  write_back(fd);
  int failed = fsync(fd) != 0 ? errno : 0;
  (void)close(fd);
  return failed;
}

/* Copy all bytes of an open file into another. Returns errno, or 0. */
static int copy_bytes(int from, int to) {
  char buffer[COPY_BYTES];
  for (ssize_t n = 0; (n = read(from, buffer, sizeof buffer)) != 0; amped_heartbeat_step()) {
    if (n < 0)
      return errno;
    for (ssize_t done = 0, wrote = 0; done < n; done += wrote) {
      wrote = write(to, buffer + done, (size_t)(n - done));
      if (wrote < 0)
        return errno;
    }
  }
  return 0;
}

/* The file goes into a pipe or a device. */
static amped_status pour(const char *temporary, const char *path) {
  int from = open(temporary, O_RDONLY | O_CLOEXEC);
  int to = open(path, O_WRONLY | O_CLOEXEC);
  int failed = from < 0 || to < 0 ? errno : copy_bytes(from, to);
  if (from >= 0)
    (void)close(from);
  if (to >= 0 && close(to) != 0 && failed == 0)
    failed = errno;
  amped_file_discard(temporary);
  return failed == 0 ? AMPED_OK
                     : amped_error_errno(AMPED_FAILED, failed, path,
                                         "cannot be written; name another file");
}

amped_status amped_file_commit(const char *temporary, const char *path) {
  char *directory = NULL;
  if (amped_file_is_special(path))
    return pour(temporary, path);
  amped_status status = amped_file_folder(path, &directory);
  int failed = status == AMPED_OK ? flush_path(temporary, O_RDONLY) : 0;
  if (status == AMPED_OK && failed == 0 && rename(temporary, path) != 0)
    failed = errno;
  if (failed != 0)
    status = amped_error_errno(AMPED_FAILED, failed, path,
                               "cannot be written; free disk space or name another file");
  if (status != AMPED_OK) {
    amped_file_discard(temporary);
    amped_free(directory);
    return status;
  }
  /* Some file systems cannot flush a directory; the file itself is safe by now. */
  (void)flush_path(directory, O_RDONLY | O_DIRECTORY);
  amped_free(directory);
  return AMPED_OK;
}

void amped_file_discard(const char *temporary) {
  if (temporary != NULL)
    (void)unlink(temporary);
}

uint64_t amped_file_room(const char *folder, uint64_t *system) {
  struct statvfs fs;
  struct stat st;
  uint64_t bytes = 0;
  *system = stat(folder, &st) == 0 ? (uint64_t)st.st_dev : 0;
  if (statvfs(folder, &fs) != 0 || fs.f_blocks == 0 ||
      !amped_mul((uint64_t)fs.f_bavail, (uint64_t)fs.f_frsize, &bytes))
    return UINT64_MAX;
  return bytes;
}

/* The file system to which the bytes go, and its free bytes. */
static amped_status find_room(const char *path, uint64_t *system, uint64_t *room) {
  char *folder = NULL;
  struct stat st;
  bool is_folder = stat(path, &st) == 0 && S_ISDIR(st.st_mode);
  AMPED_TRY(amped_file_is_special(path) ? amped_strdup(&folder, amped_file_scratch())
            : is_folder                 ? amped_strdup(&folder, path)
                                        : amped_file_folder(path, &folder));
  *room = amped_file_room(folder, system);
  amped_free(folder);
  return AMPED_OK;
}

static amped_status no_room(const amped_file_need *need, uint64_t all, uint64_t room) {
  char own[32];
  char sum[32];
  char have[32];
  char others[64] = "";
  if (all > need->bytes)
    (void)snprintf(others, sizeof others, " (%s with other files of this run)",
                   amped_format_bytes(sum, all));
  return amped_error(AMPED_FAILED, need->path,
                     "there is no room for it: it takes up to %s%s, and %s is free; free disk "
                     "space or %s",
                     amped_format_bytes(own, need->bytes), others, amped_format_bytes(have, room),
                     need->remedy);
}

amped_status amped_file_check_room(const amped_file_need *needs, int count) {
  for (int i = 0; i < count; i++) {
    uint64_t system = 0;
    uint64_t room = 0;
    uint64_t sum = 0;
    AMPED_TRY(find_room(needs[i].path, &system, &room));
    for (int j = 0; j <= i; j++) {
      uint64_t other = 0;
      uint64_t unused = 0;
      AMPED_TRY(find_room(needs[j].path, &other, &unused));
      if ((other == system || j == i) && !amped_add(sum, needs[j].bytes, &sum))
        sum = UINT64_MAX;
    }
    if (sum > room)
      return no_room(&needs[i], sum, room);
  }
  return AMPED_OK;
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

void amped_file_ask(int fd, uint64_t first, uint64_t bytes) {
  for (uint64_t done = 0; done < bytes; done += REQUEST_BYTES) {
    uint64_t n = bytes - done < REQUEST_BYTES ? bytes - done : REQUEST_BYTES;
    (void)posix_fadvise(fd, (off_t)(first + done), (off_t)n, POSIX_FADV_WILLNEED);
  }
}

amped_file_stamp amped_file_stamp_take(const char *path) {
  struct stat st;
  if (stat(path, &st) != 0 || !S_ISREG(st.st_mode))
    return (amped_file_stamp){0, 0, 0, 0, 0};
  return (amped_file_stamp){(uint64_t)st.st_dev, (uint64_t)st.st_ino, (uint64_t)st.st_size,
                            st.st_mtim.tv_sec, st.st_mtim.tv_nsec};
}

amped_status amped_file_check_unchanged(const char *path, const amped_file_stamp *before) {
  amped_file_stamp now = amped_file_stamp_take(path);
  if (now.system != before->system || now.number != before->number ||
      (now.bytes == before->bytes && now.sec == before->sec && now.nsec == before->nsec))
    return AMPED_OK;
  amped_status_clear(); /* errors found in the file follow from the change */
  return amped_error(AMPED_BAD_INPUT, path,
                     "was changed while it was being read; start again when it is complete");
}

bool amped_file_same(const char *a, const char *b) {
  struct stat x;
  struct stat y;
  return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

bool amped_file_is_one(const char *a, const char *b) {
  return a != NULL && b != NULL && (strcmp(a, b) == 0 || amped_file_same(a, b));
}
