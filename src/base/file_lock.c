#include "base/file_lock.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"

#define HOLDER_BYTES 128

/* The locks that this process holds, for its end by a signal. An entry is complete before it is
 * set, and is cleared before its names are freed. */
static struct {
  char *volatile name;
  char *volatile temporary;
} taken[AMPED_MOST_LOCKS];

static void enter(const amped_file_lock *lock) {
  for (int i = 0; i < AMPED_MOST_LOCKS; i++)
    if (taken[i].name == NULL) {
      taken[i].temporary = lock->temporary;
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
    if (taken[i].name != NULL) {
      (void)unlink(taken[i].temporary);
      (void)unlink(taken[i].name);
    }
}

/* Attempts to open a lock file again after its holder removed it. */
#define MOST_TRIES 16

static amped_status refuse(const char *path, const amped_file_lock *lock) {
  char holder[HOLDER_BYTES] = "";
  ssize_t n = pread(lock->fd, holder, sizeof holder - 1, 0);
  holder[n > 0 ? n : 0] = '\0';
  holder[strcspn(holder, "\n")] = '\0';
  return amped_error(AMPED_FAILED, path,
                     "is being written by another job (%s); wait for its end, or name another file",
                     holder[0] != '\0' ? holder : "unknown");
}

/* Did the previous holder remove the file after we opened it and before we locked it? */
static bool is_gone(const amped_file_lock *lock) {
  struct stat named;
  struct stat held;
  return fstat(lock->fd, &held) != 0 || stat(lock->name, &named) != 0 ||
         named.st_ino != held.st_ino || named.st_dev != held.st_dev;
}

static void tell_holder(const amped_file_lock *lock) {
  char host[64] = "";
  char holder[HOLDER_BYTES];
  (void)gethostname(host, sizeof host - 1);
  int n = snprintf(holder, sizeof holder, "process %ld on %s\n", (long)getpid(), host);
  if (ftruncate(lock->fd, 0) == 0 && n > 0)
    (void)!pwrite(lock->fd, holder, (size_t)n, 0); /* a full disk shows in later writes */
}

/* Was the previous holder a process of this host? A holder on another host may still be alive: some
 * file systems keep locks across nodes only if they are configured to. */
static bool was_ours(const amped_file_lock *lock) {
  char host[64] = "";
  char name[64] = "";
  char holder[HOLDER_BYTES] = "";
  (void)gethostname(host, sizeof host - 1);
  return pread(lock->fd, holder, sizeof holder - 1, 0) > 0 &&
         sscanf(holder, "process %*d on %63s", name) == 1 && strcmp(host, name) == 0;
}

/* Is the entry a temporary file of path's last part, written by a process that has ended? */
static bool is_leftover(const char *entry, const char *base) {
  static const char middle[] = ".tmp.";
  size_t n = strlen(base);
  if (strncmp(entry, base, n) != 0 || strncmp(entry + n, middle, sizeof middle - 1) != 0)
    return false;
  const char *number = entry + n + sizeof middle - 1;
  if (*number == '\0' || number[strspn(number, "0123456789")] != '\0' || strlen(number) > 9)
    return false;
  return kill((pid_t)strtol(number, NULL, 10), 0) != 0 && errno == ESRCH;
}

/* Remove temporary files that no process writes any more: a living writer would hold the lock. */
static amped_status remove_leftovers(const char *path) {
  const char *base = strrchr(path, '/');
  char *folder = NULL;
  base = base != NULL ? base + 1 : path;
  AMPED_TRY(amped_file_folder(path, &folder));
  DIR *entries = opendir(folder);
  amped_free(folder);
  if (entries == NULL)
    return AMPED_OK;
  for (struct dirent *e = readdir(entries); e != NULL; e = readdir(entries))
    if (is_leftover(e->d_name, base))
      (void)unlinkat(dirfd(entries), e->d_name, 0);
  (void)closedir(entries);
  return AMPED_OK;
}

static amped_status open_lock(const char *path, amped_file_lock *lock) {
  lock->fd = open(lock->name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666);
  if (lock->fd >= 0)
    return AMPED_OK;
  int error = errno;
  return amped_error_errno(AMPED_FAILED, error, path,
                           "cannot be locked: %s cannot be opened; %sname another output",
                           lock->name, error == ENOENT ? "" : "remove that file, or ");
}

amped_status amped_file_lock_take(const char *path, amped_file_lock *lock) {
  amped_status status = AMPED_OK;
  uint64_t bytes = strlen(path) + sizeof ".lock";
  *lock = (amped_file_lock){NULL, -1, NULL};
  if (amped_file_is_special(path))
    return AMPED_OK;
  AMPED_TRY(amped_file_temporary(path, &lock->temporary));
  AMPED_GO(fail, amped_alloc(&lock->name, bytes, 1, "a path"));
  (void)snprintf(lock->name, bytes, "%s.lock", path);
  for (int tries = 0;; tries++) {
    AMPED_GO(fail, open_lock(path, lock));
    int failed = flock(lock->fd, LOCK_EX | LOCK_NB) != 0 ? errno : 0;
    if (failed == EWOULDBLOCK) {
      status = refuse(path, lock);
      goto fail;
    }
    /* The file system has no locks or no file numbers: a lock file of another job stays. */
    if ((failed != 0 && failed != EINTR) || tries == MOST_TRIES)
      goto fail;
    if (failed == 0 && !is_gone(lock))
      break;
    (void)close(lock->fd);
  }
  enter(lock);
  bool ours = was_ours(lock);
  tell_holder(lock);
  if (ours)
    status = remove_leftovers(path);
  if (status != AMPED_OK)
    amped_file_lock_release(lock);
  return status;
fail:
  if (lock->fd >= 0)
    (void)close(lock->fd);
  amped_free(lock->name);
  amped_free(lock->temporary);
  *lock = (amped_file_lock){NULL, -1, NULL};
  return status;
}

void amped_file_lock_release(amped_file_lock *lock) {
  if (lock->name == NULL)
    return;
  strike_out(lock);
  (void)unlink(lock->name); /* while the lock is held: later the name may be another job's lock */
  (void)close(lock->fd);
  amped_free(lock->name);
  amped_free(lock->temporary);
  *lock = (amped_file_lock){NULL, -1, NULL};
}
