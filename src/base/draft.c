/* Draft: creating, publishing and removing files that are being written. */
#include "base/draft.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/heartbeat.h"
#include "base/log.h"
#include "base/mem.h"

/* Bytes written back to the disk in one step, and bytes copied into a pipe at a time. */
#define WRITE_BACK_BYTES ((off_t)32 << 20)
#define COPY_BYTES 65536

/* Most open drafts, more than a process uses: the weights and factors of a result. */
#define MOST_DRAFTS 64

#define RANDOM_DIGITS 16
#define MOST_TRIES 16

static const char middle[] = ".tmp.";

/* --- drafts that a signal removes ------------------------------------------------------------- */

/* States of an entry. It belongs to the code that made it TAKEN; a signal takes LISTED entries. */
enum { FREE, TAKEN, LISTED };

static struct {
  atomic_int state;
  int folder;
  char name[NAME_MAX + 1];
} entries[MOST_DRAFTS];

static bool take(int entry, int from) {
  return atomic_compare_exchange_strong(&entries[entry].state, &from, TAKEN);
}

static int take_free(void) {
  for (int i = 0; i < MOST_DRAFTS; i++)
    if (take(i, FREE))
      return i;
  return -1;
}

/* Takes the draft off the list, before it gets another name or is removed. */
static void strike_out(amped_draft *d) {
  if (d->entry >= 0 && take(d->entry, LISTED))
    atomic_store(&entries[d->entry].state, FREE);
  d->entry = -1;
}

void amped_draft_abandon(void) {
  for (int i = 0; i < MOST_DRAFTS; i++)
    if (take(i, LISTED))
      (void)unlinkat(entries[i].folder, entries[i].name, 0);
}

bool amped_draft_is_left(const char *entry, const char *base) {
  const size_t n = strlen(base);
  if (strncmp(entry, base, n) != 0 || strncmp(entry + n, middle, sizeof middle - 1) != 0)
    return false;
  const char *pid = entry + n + sizeof middle - 1;
  const size_t digits = strspn(pid, "0123456789");
  const char *random = pid + digits;
  if (digits == 0 || digits > 9)
    return false;
  if (*random != '\0' && /* the oldest form ends here */
      (*random != '.' || strlen(random + 1) != RANDOM_DIGITS ||
       strspn(random + 1, "0123456789abcdef") != RANDOM_DIGITS))
    return false;
  return kill((pid_t)strtol(pid, NULL, 10), 0) != 0 && errno == ESRCH;
}

/* --- opening ---------------------------------------------------------------------------------- */

static amped_status no_draft(const amped_draft *d, int failed) {
  return amped_error_errno(AMPED_FAILED, failed, d->path, "cannot be written; name another file");
}

/* Makes the file beside its target. Returns errno, or 0. */
static int create(amped_draft *d) {
  uint64_t random = 0;
  d->entry = take_free();
  if (d->entry < 0)
    return ENFILE;
  char *name = entries[d->entry].name;
  int failed = EEXIST;
  for (int tries = 0; failed == EEXIST && tries < MOST_TRIES; tries++) {
    if (getrandom(&random, sizeof random, 0) != (ssize_t)sizeof random) {
      failed = errno;
      break;
    }
    const int n = snprintf(name, sizeof entries->name, "%s%s%ld.%016" PRIx64, d->target.name,
                           middle, (long)getpid(), random);
    if (n < 0 || (size_t)n >= sizeof entries->name) {
      failed = ENAMETOOLONG;
      break;
    }
    d->fd = openat(d->target.folder, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                   S_IRUSR | S_IWUSR);
    failed = d->fd < 0 ? errno : 0;
  }
  entries[d->entry].folder = d->target.folder;
  atomic_store(&entries[d->entry].state, failed == 0 ? LISTED : FREE);
  if (failed != 0)
    d->entry = -1;
  return failed;
}

/* Makes a file without a name. Returns errno, or 0. */
static int gather(amped_draft *d) {
  char name[PATH_MAX];
  const int n = snprintf(name, sizeof name, "%s/amped_mpi.tmp.XXXXXX", amped_file_scratch());
  if (n < 0 || (size_t)n >= sizeof name)
    return ENAMETOOLONG;
  d->fd = mkostemp(name, O_CLOEXEC);
  if (d->fd < 0)
    return errno;
  d->gathers = true;
  return unlink(name) == 0 ? 0 : errno;
}

amped_status amped_draft_open(const char *path, bool seeks, amped_draft *out) {
  memset(out, 0, sizeof *out);
  out->path = path;
  out->fd = -1;
  out->entry = -1;
  AMPED_TRY(amped_target_find(path, &out->target));
  out->open = true;
  int failed = 0;
  if (!out->target.straight) {
    failed = create(out);
  } else if (seeks) {
    failed = gather(out);
  } else {
    out->fd = amped_target_open_straight(&out->target);
    failed = out->fd < 0 ? errno : 0;
  }
  if (failed == 0)
    return AMPED_OK;
  amped_draft_close(out);
  return no_draft(out, failed);
}

/* --- publishing ------------------------------------------------------------------------------- */

/* The default mode under this process's umask. Changing the umask to read it would disturb other
 * threads. */
static mode_t default_mode(void) {
  char line[128];
  unsigned mask = S_IRWXG | S_IRWXO; /* used if the umask is unknown */
  FILE *file = fopen("/proc/self/status", "re");
  while (file != NULL && fgets(line, sizeof line, file) != NULL)
    if (sscanf(line, "Umask: %o", &mask) == 1)
      break;
  if (file != NULL)
    (void)fclose(file);
  return (mode_t)(~mask & (S_IRUSR | S_IWUSR | S_IRGRP | S_IWGRP | S_IROTH | S_IWOTH));
}

/* Sets the mode and the group of the old file. A file left by another user can only restrict who
 * may read. */
static int set_mode(const amped_draft *d) {
  struct stat old;
  struct stat own;
  mode_t mode = default_mode();
  if (fstat(d->fd, &own) != 0)
    return errno;
  if (fstatat(d->target.folder, d->target.name, &old, AT_SYMLINK_NOFOLLOW) == 0 &&
      S_ISREG(old.st_mode)) {
    const mode_t kept = old.st_mode & (S_IRWXU | S_IRWXG | S_IRWXO);
    mode = old.st_uid == own.st_uid ? kept : mode & (kept | S_IRUSR | S_IWUSR);
    /* If the group cannot be kept, another group gets no more rights than everyone. */
    if (old.st_gid != own.st_gid && fchown(d->fd, (uid_t)-1, old.st_gid) != 0)
      mode &= (mode_t) ~(S_IRWXG & ~(mode << 3));
  }
  return fchmod(d->fd, mode) == 0 ? 0 : errno;
}

/* Writes to the disk piece by piece, with one heartbeat step per piece: a large file takes minutes.
 * If the file system cannot do this, the flush that follows writes everything at once. */
static void write_back(int fd) {
  const unsigned how =
      SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER;
  struct stat about;
  if (fstat(fd, &about) != 0)
    return;
  for (off_t at = 0; at < about.st_size; at += WRITE_BACK_BYTES) {
    if (sync_file_range(fd, at, WRITE_BACK_BYTES, how) != 0)
      return;
    amped_heartbeat_step();
  }
}

/* Flushes a directory. Some file systems cannot; the file itself is safe by now. */
static void flush_folder(int folder) {
  int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0)
    return;
  (void)fsync(fd);
  (void)close(fd);
}

/* Returns errno, or 0. */
static int rename_to_target(amped_draft *d, bool previous) {
  char old[NAME_MAX + 1];
  const amped_target *t = &d->target;
  const int n = snprintf(old, sizeof old, "%s.prev", t->name);
  if (previous && (n < 0 || (size_t)n >= sizeof old))
    return ENAMETOOLONG;
  if (previous && renameat(t->folder, t->name, t->folder, old) != 0 && errno != ENOENT)
    return errno;
  if (renameat(t->folder, entries[d->entry].name, t->folder, t->name) != 0)
    return errno;
  strike_out(d);
  return 0;
}

/* Copies all bytes into the pipe or the device. Returns errno, or 0. */
static int pour(const amped_draft *d) {
  char buffer[COPY_BYTES];
  off_t at = 0;
  int failed = 0;
  int to = amped_target_open_straight(&d->target);
  if (to < 0)
    return errno;
  for (ssize_t n = 0; failed == 0 && (n = pread(d->fd, buffer, sizeof buffer, at)) != 0; at += n) {
    failed = n < 0 ? errno : 0;
    for (ssize_t done = 0, wrote = 0; failed == 0 && done < n; done += wrote) {
      wrote = write(to, buffer + done, (size_t)(n - done));
      failed = wrote < 0 ? errno : 0;
    }
    amped_heartbeat_step();
  }
  return close(to) != 0 && failed == 0 ? errno : failed;
}

static int publish(amped_draft *d, bool previous) {
  if (d->gathers)
    return pour(d);
  if (d->target.straight)
    return 0;
  int failed = set_mode(d);
  write_back(d->fd);
  if (failed == 0 && fsync(d->fd) != 0)
    failed = errno;
  if (failed == 0)
    failed = rename_to_target(d, previous);
  if (failed == 0)
    flush_folder(d->target.folder);
  return failed;
}

amped_status amped_draft_publish(amped_draft *d, bool previous) {
  int failed = publish(d, previous);
  if (close(d->fd) != 0 && failed == 0)
    failed = errno;
  d->fd = -1;
  amped_draft_close(d);
  if (failed == 0)
    return AMPED_OK;
  return amped_error_errno(AMPED_FAILED, failed, d->path,
                           "cannot be written; free disk space or name another file");
}

amped_status amped_draft_show(amped_draft *d) {
  int failed = 0;
  if (d->target.straight)
    return AMPED_OK;
  failed = set_mode(d);
  if (failed == 0)
    failed = rename_to_target(d, false);
  if (failed == 0)
    return AMPED_OK;
  amped_draft_close(d);
  return no_draft(d, failed);
}

/* Gives the draft its name by a link, or by an exclusive rename: some file systems have only one of
 * them. */
int amped_draft_claim(amped_draft *d) {
  const amped_target *t = &d->target;
  const char *name = entries[d->entry].name;
  if (linkat(t->folder, name, t->folder, t->name, 0) == 0) {
    (void)unlinkat(t->folder, name, 0);
  } else if (errno == EEXIST ||
             renameat2(t->folder, name, t->folder, t->name, RENAME_NOREPLACE) != 0) {
    return errno;
  }
  strike_out(d);
  return 0;
}

amped_status amped_draft_path(const amped_draft *d, char **out) {
  const int folder = (int)(d->target.name - d->target.path);
  const char *name = entries[d->entry].name;
  const uint64_t bytes = (uint64_t)folder + strlen(name) + 1;
  AMPED_TRY(amped_alloc(out, bytes, 1, "a path"));
  (void)snprintf(*out, bytes, "%.*s%s", folder, d->target.path, name);
  return AMPED_OK;
}

void amped_draft_close(amped_draft *d) {
  if (!d->open)
    return;
  if (d->entry >= 0)
    (void)unlinkat(d->target.folder, entries[d->entry].name, 0);
  strike_out(d);
  if (d->fd >= 0)
    (void)close(d->fd);
  amped_target_close(&d->target);
  d->open = false;
}
