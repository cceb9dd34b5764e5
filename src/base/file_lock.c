/* File lock: taking, taking over and releasing lock files. */
#include "base/file_lock.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/draft.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/target.h"

#define HOLDER_BYTES 128
#define HOST_BYTES 64

/* Names of the locks that this process holds, for the signal handler (amped_file_lock_abandon). A
 * name is complete before it is entered, and is struck out before it is freed. */
static struct { char *volatile name; } taken[AMPED_MOST_LOCKS];

static void enter(const amped_file_lock *lock) {
  for (int i = 0; i < AMPED_MOST_LOCKS; i++)
    if (taken[i].name == NULL) {
      taken[i].name = lock->name;
      return;
    }
}

static void strike_out(const amped_file_lock *lock) {
  for (int i = 0; i < AMPED_MOST_LOCKS; i++)
    if (taken[i].name == lock->name)
      taken[i].name = NULL;
}

void amped_file_lock_abandon(void) {
  for (int i = 0; i < AMPED_MOST_LOCKS; i++)
    if (taken[i].name != NULL)
      (void)unlink(taken[i].name);
}

/* Attempts to open a lock file again after its holder removed it. */
#define MOST_TRIES 16

/* --- text of a lock --------------------------------------------------------------------------- */

/* First words of a lock file. Locks of the first builds had none. */
static const char signature[] = "amped_mpi lock: ";

/* The process that holds a lock, read from the lock file. */
typedef struct holder {
  long pid;
  char host[HOST_BYTES];
} holder;

static void this_host(char *host) {
  memset(host, 0, HOST_BYTES);
  (void)gethostname(host, HOST_BYTES - 1);
}

static int write_text(char *text, const char *head, const holder *h) {
  return snprintf(text, HOLDER_BYTES, "%sprocess %ld on %s\n", head, h->pid, h->host);
}

/* Reads the holder. Returns false if the file contains anything but the text of a lock. */
static bool read_holder(int fd, holder *h) {
  char text[HOLDER_BYTES];
  char whole[HOLDER_BYTES];
  const ssize_t n = pread(fd, text, sizeof text - 1, 0);
  if (n <= 0)
    return false;
  text[n] = '\0';
  const size_t head =
      strncmp(text, signature, sizeof signature - 1) == 0 ? sizeof signature - 1 : 0;
  return sscanf(text + head, "process %ld on %63s", &h->pid, h->host) == 2 &&
         write_text(whole, head > 0 ? signature : "", h) == n && strcmp(text, whole) == 0;
}

/* --- leftovers of killed jobs ----------------------------------------------------------------- */

/* Did this program begin the file: is it HDF5, perhaps with a missing head, compressed data,
 * npy, a journal, or text? */
static bool has_our_bytes(int folder, const char *entry) {
  static const char *const heads[] = {"\x89HDF\r\n\x1a\n", "\x1f\x8b", "\x28\xb5\x2f\xfd",
                                      "\x93NUMPY", "AMPEDJNL"};
  static const char nothing[8];
  char bytes[512];
  int fd = openat(folder, entry, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  const ssize_t n = fd >= 0 ? pread(fd, bytes, sizeof bytes, 0) : -1;
  if (fd >= 0)
    (void)close(fd);
  bool is = n == 0 || (n >= (ssize_t)sizeof nothing && memcmp(bytes, nothing, sizeof nothing) == 0);
  for (size_t i = 0; i < sizeof heads / sizeof heads[0]; i++)
    is = is || (n >= (ssize_t)strlen(heads[i]) && memcmp(bytes, heads[i], strlen(heads[i])) == 0);
  return is || (n > 0 && memchr(bytes, '\0', (size_t)n) == NULL);
}

/* Is it a regular file of this user, with one name? Then it is no link of another user. */
static bool is_own_file(int folder, const char *entry) {
  struct stat st;
  return fstatat(folder, entry, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode) &&
         st.st_uid == geteuid() && st.st_nlink == 1;
}

/* Does the process of this draft of a lock live, on any host? A lock's draft is locked as soon as
 * it exists. */
static bool is_locked(int folder, const char *entry) {
  int fd = openat(folder, entry, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  const bool locked = fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0;
  if (fd >= 0)
    (void)close(fd);
  return locked;
}

/* Removes drafts that no process writes any more: a living writer would hold the lock. anew: there
 * was no lock, so only drafts of locks may be left. */
static void remove_leftovers(const amped_target *t, const amped_file_lock *lock, bool anew) {
  const char *own = strrchr(lock->name, '/');
  own = own != NULL ? own + 1 : lock->name;
  int fd = openat(t->folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *entries = fd >= 0 ? fdopendir(fd) : NULL;
  if (entries == NULL) {
    if (fd >= 0)
      (void)close(fd);
    return;
  }
  for (struct dirent *e = readdir(entries); e != NULL; e = readdir(entries))
    if (((!anew && amped_draft_is_left(e->d_name, t->name)) ||
         (amped_draft_is_left(e->d_name, own) && !is_locked(t->folder, e->d_name))) &&
        is_own_file(t->folder, e->d_name) && has_our_bytes(t->folder, e->d_name))
      (void)unlinkat(t->folder, e->d_name, 0);
  (void)closedir(entries);
}

/* --- taking ----------------------------------------------------------------------------------- */

/* Result of one attempt. */
typedef enum attempt {
  HELD,     /* the lock is ours */
  REFUSED,  /* refused; the error line gives the reason */
  NO_LOCKS, /* the file system has no locks */
  AGAIN     /* another job made or removed the file meanwhile */
} attempt;

/* Did the previous holder remove the file after we opened it and before we locked it? */
static bool is_gone(const amped_file_lock *lock) {
  struct stat named;
  struct stat held;
  return fstat(lock->fd, &held) != 0 || lstat(lock->name, &named) != 0 ||
         named.st_ino != held.st_ino || named.st_dev != held.st_dev;
}

/* Writes this process's text into the lock. On a full disk the old text stays. */
static bool tell_holder(int fd) {
  char text[HOLDER_BYTES];
  holder h = {.pid = (long)getpid()};
  this_host(h.host);
  const int n = write_text(text, signature, &h);
  return pwrite(fd, text, (size_t)n, 0) == n && ftruncate(fd, n) == 0;
}

static attempt refuse(const char *path, const char *reason, const amped_file_lock *lock) {
  (void)amped_error(AMPED_FAILED, path, "cannot be locked: %s %s, or name another output",
                    lock->name, reason);
  return REFUSED;
}

static attempt refuse_errno(const char *path, const amped_file_lock *lock) {
  int error = errno;
  (void)amped_error_errno(AMPED_FAILED, error, path,
                          "cannot be locked: %s cannot be written; %sname another output",
                          lock->name, error == ENOSPC ? "free disk space, or " : "");
  return REFUSED;
}

static attempt refuse_busy(const char *path, const holder *h) {
  (void)amped_error(
      AMPED_FAILED, path,
      "is being written by another job (process %ld on %s); wait for its end, or name another "
      "file",
      h->pid, h->host);
  return REFUSED;
}

/* Opens the lock file. Another user's lock may be open to readers only; this is enough to see
 * whether its job lives. */
static int open_lock(const amped_file_lock *lock) {
  const int flags = O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
  int fd = open(lock->name, O_RDWR | flags);
  return fd < 0 && errno == EACCES ? open(lock->name, O_RDONLY | flags) : fd;
}

/* Takes over an existing file with the lock's name. */
static attempt take_over(const char *path, const amped_target *t, amped_file_lock *lock) {
  struct stat st;
  holder h = {.pid = 0};
  char host[HOST_BYTES];
  lock->fd = open_lock(lock);
  if (lock->fd < 0)
    return errno == ENOENT ? AGAIN
                           : refuse(path, "cannot be opened as a lock; rename that file", lock);
  if (fstat(lock->fd, &st) != 0 || !S_ISREG(st.st_mode) || !read_holder(lock->fd, &h))
    return is_gone(lock) ? AGAIN
                         : refuse(path, "is not a lock file of amped_mpi; rename that file", lock);
  if (flock(lock->fd, LOCK_EX | LOCK_NB) != 0)
    return errno == EWOULDBLOCK ? refuse_busy(path, &h) : errno == EINTR ? AGAIN : NO_LOCKS;
  if (is_gone(lock))
    return AGAIN;
  if (st.st_uid != geteuid())
    return refuse(path, "was left by a job of another user; remove that file", lock);
  if (!tell_holder(lock->fd))
    return refuse_errno(path, lock);
  /* A holder on another host may still be alive: some file systems keep locks across nodes only if
   * configured to. */
  this_host(host);
  if (strcmp(host, h.host) == 0)
    remove_leftovers(t, lock, false);
  return HELD;
}

/* Makes the lock. It has its text, and is locked, before it has its name: nobody sees it empty. */
static attempt make(const char *path, amped_file_lock *lock) {
  amped_draft draft;
  int failed = 0;
  if (amped_draft_open(lock->name, true, &draft) != AMPED_OK)
    return REFUSED;
  attempt a = flock(draft.fd, LOCK_EX | LOCK_NB) == 0 ? HELD : NO_LOCKS;
  if (a == HELD &&
      (!tell_holder(draft.fd) || fchmod(draft.fd, S_IRUSR | S_IWUSR | S_IRGRP | S_IROTH) != 0))
    a = refuse_errno(path, lock);
  if (a == HELD)
    failed = amped_draft_claim(&draft);
  if (failed != 0) /* without exclusive names there are no locks */
    a = failed == EEXIST ? AGAIN : NO_LOCKS;
  if (a == HELD) {
    lock->fd = draft.fd;
    draft.fd = -1;
  }
  amped_draft_close(&draft);
  return a;
}

static attempt try_once(const char *path, const amped_target *t, amped_file_lock *lock) {
  struct stat st;
  if (lstat(lock->name, &st) == 0)
    return take_over(path, t, lock);
  if (errno != ENOENT)
    return refuse_errno(path, lock);
  const attempt a = make(path, lock);
  if (a == HELD)
    remove_leftovers(t, lock, true);
  return a;
}

static amped_status name_lock(const amped_target *t, amped_file_lock *lock) {
  const uint64_t bytes = strlen(t->path) + sizeof ".lock";
  AMPED_TRY(amped_alloc(&lock->name, bytes, 1, "a path"));
  (void)snprintf(lock->name, bytes, "%s.lock", t->path);
  return AMPED_OK;
}

static void forget(amped_file_lock *lock) {
  if (lock->fd >= 0)
    (void)close(lock->fd);
  amped_free(lock->name);
  *lock = (amped_file_lock){NULL, -1};
}

amped_status amped_file_lock_take(const char *path, amped_file_lock *lock) {
  amped_target t;
  attempt a = AGAIN;
  *lock = (amped_file_lock){NULL, -1};
  AMPED_TRY(amped_target_find(path, &t));
  amped_status status = t.straight ? AMPED_OK : name_lock(&t, lock);
  for (int tries = 0; lock->name != NULL && a == AGAIN && tries < MOST_TRIES; tries++) {
    a = try_once(path, &t, lock);
    if (a != HELD && lock->fd >= 0) {
      (void)close(lock->fd);
      lock->fd = -1;
    }
  }
  amped_target_close(&t);
  if (a == REFUSED)
    status = AMPED_FAILED;
  if (a == HELD)
    enter(lock);
  else /* no locks on this file system, or no file numbers: no job is refused */
    forget(lock);
  return status;
}

void amped_file_lock_release(amped_file_lock *lock) {
  if (lock->name == NULL)
    return;
  strike_out(lock);
  /* The lock is still held: later the name may be another job's lock. */
  if (!is_gone(lock))
    (void)unlink(lock->name);
  forget(lock);
}

bool amped_file_lock_is_held(const char *path) {
  amped_file_lock lock = {NULL, -1};
  amped_target t;
  bool held = false;
  if (!amped_target_look(path, &t))
    return false;
  if (!t.straight && name_lock(&t, &lock) != AMPED_OK)
    amped_status_clear();
  amped_target_close(&t);
  if (lock.name != NULL)
    lock.fd = open_lock(&lock);
  if (lock.fd >= 0)
    held = flock(lock.fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  forget(&lock);
  return held;
}

static bool is_lock_of(const char *a, const char *b) {
  amped_file_lock lock = {NULL, -1};
  amped_target t;
  if (!amped_target_look(b, &t))
    return false;
  if (!t.straight && name_lock(&t, &lock) != AMPED_OK)
    amped_status_clear(); /* out of memory: reported when the lock is taken */
  const bool is = amped_file_is_one(a, lock.name);
  amped_target_close(&t);
  amped_free(lock.name);
  return is;
}

bool amped_file_lock_is_between(const char *a, const char *b) {
  return a != NULL && b != NULL && (is_lock_of(a, b) || is_lock_of(b, a));
}
