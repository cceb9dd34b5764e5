/* File: questions to the file system, answered with stat and similar calls. */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/target.h"

/* Bytes of one request to read ahead; kernels ignore the part of a request beyond their own
 * limit. */
#define REQUEST_BYTES (UINT64_C(128) << 10)

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
  amped_target t;
  const char *found = amped_target_look(path, &t) ? t.path : path;
  const uint64_t bytes = strlen(found) + sizeof ".prev";
  amped_status status = amped_alloc(out, bytes, 1, "a path");
  if (status == AMPED_OK)
    (void)snprintf(*out, bytes, "%s.prev", found);
  amped_target_close(&t);
  return status;
}

bool amped_file_is_special(const char *path) {
  amped_target t;
  const bool straight = amped_target_look(path, &t) && t.straight;
  amped_target_close(&t);
  return straight;
}

int amped_file_open_regular(const char *path) {
  struct stat st;
  if (stat(path, &st) != 0 || !S_ISREG(st.st_mode))
    return -1;
  return open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
}

bool amped_file_holds(const char *path) {
  amped_target t;
  const bool holds = amped_target_look(path, &t) && t.exists && !t.straight && t.found.st_size > 0;
  amped_target_close(&t);
  return holds;
}

const char *amped_file_scratch(void) {
  const char *folder = getenv("TMPDIR");
  return folder != NULL && *folder != '\0' ? folder : "/tmp";
}

amped_status amped_file_check_writable(const char *path) {
  amped_target t;
  amped_status status = AMPED_OK;
  AMPED_TRY(amped_target_find(path, &t));
  if (t.straight && faccessat(t.folder, t.name, W_OK, 0) != 0)
    status = amped_error_errno(AMPED_FAILED, errno, path, "cannot be written; name another file");
  else if (!t.straight && faccessat(t.folder, ".", W_OK | X_OK, 0) != 0)
    status =
        amped_error_errno(AMPED_FAILED, errno, path, "its directory is not writable; name another");
  amped_target_close(&t);
  return status;
}

bool amped_file_has_suffix(const char *path, const char *suffix) {
  size_t length = strlen(path);
  size_t n = strlen(suffix);
  return length > n && strcasecmp(path + length - n, suffix) == 0;
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

/* Finds the file system that receives the bytes, and its free bytes. */
static amped_status find_room(const char *path, uint64_t *system, uint64_t *room) {
  amped_target t;
  char *folder = NULL;
  const bool found = amped_target_look(path, &t);
  amped_status status = t.straight ? amped_strdup(&folder, amped_file_scratch())
                        : found    ? amped_file_folder(t.path, &folder)
                                   : amped_strdup(&folder, path); /* a folder, or missing */
  amped_target_close(&t);
  AMPED_TRY(status);
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

amped_file_stamp amped_file_stamp_take(int fd) {
  struct stat st;
  if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
    return (amped_file_stamp){.system = 0};
  return (amped_file_stamp){(uint64_t)st.st_dev, (uint64_t)st.st_ino, (uint64_t)st.st_size,
                            st.st_mtim.tv_sec,   st.st_mtim.tv_nsec,  st.st_ctim.tv_sec,
                            st.st_ctim.tv_nsec};
}

bool amped_file_stamp_same(const amped_file_stamp *a, const amped_file_stamp *b) {
  return a->system == b->system && a->number == b->number && a->bytes == b->bytes &&
         a->sec == b->sec && a->nsec == b->nsec;
}

bool amped_file_stamp_equal(const amped_file_stamp *a, const amped_file_stamp *b) {
  return amped_file_stamp_same(a, b) && a->about_sec == b->about_sec &&
         a->about_nsec == b->about_nsec;
}

amped_status amped_file_changed(const char *path) {
  amped_status_clear(); /* errors found in the file follow from the change */
  return amped_error(AMPED_BAD_INPUT, path,
                     "was changed while it was being read; start again when it is complete");
}

amped_status amped_file_check_unchanged(int fd, const char *path, const amped_file_stamp *before) {
  const amped_file_stamp now = amped_file_stamp_take(fd);
  return amped_file_stamp_same(&now, before) ? AMPED_OK : amped_file_changed(path);
}

bool amped_file_same(const char *a, const char *b) {
  struct stat x;
  struct stat y;
  return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* Are two unused names in one folder, and equal? */
static bool is_one_place(const amped_target *a, const amped_target *b) {
  struct stat x;
  struct stat y;
  return !a->exists && !b->exists && strcmp(a->name, b->name) == 0 && fstat(a->folder, &x) == 0 &&
         fstat(b->folder, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

bool amped_file_is_one(const char *a, const char *b) {
  amped_target x;
  amped_target y;
  if (a == NULL || b == NULL)
    return false;
  if (strcmp(a, b) == 0 || amped_file_same(a, b))
    return true;
  bool found = amped_target_look(a, &x);
  found = amped_target_look(b, &y) && found;
  const bool one = found && is_one_place(&x, &y);
  amped_target_close(&x);
  amped_target_close(&y);
  return one;
}

int amped_file_write_at(int fd, const void *from, uint64_t bytes, uint64_t at) {
  const char *p = from;
  while (bytes > 0) {
    const ssize_t n = pwrite(fd, p, bytes, (off_t)at);
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0)
      return n < 0 ? errno : ENOSPC;
    p += n;
    at += (uint64_t)n;
    bytes -= (uint64_t)n;
  }
  return 0;
}
