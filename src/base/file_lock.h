/* Lock of an output file: one job at a time writes it.
 *
 * The lock is a file TARGET.lock beside the output's target (base/target.h), locked by the kernel
 * (flock) and removed at the end. Its text says that it is a lock, and names its process. A file of
 * that name without this text, or of another user, is not touched: the output is refused.
 *
 * The kernel drops the lock of a killed job, so the next job takes the file over. If the killed job
 * ran on this host, the next job also removes its drafts (base/draft.h). On a file system without
 * locks no job is refused, no file is removed, and none is made. */
#ifndef AMPED_FILE_LOCK_H
#define AMPED_FILE_LOCK_H

#include <stdbool.h>

#include "base/status.h"

/* Most locks of a process: one per result with another number of components, and two more. */
#define AMPED_MOST_LOCKS 68

typedef struct amped_file_lock {
  char *name; /* amped_alloc'd; NULL: no lock is held */
  int fd;
} amped_file_lock;

/* AMPED_FAILED if another job holds the lock; the line names the job. Also if a file with the
 * lock's name is no lock of this user. The directory must exist (amped_file_check_writable). On
 * failure there is nothing to release. A pipe or a device needs no lock. Main thread. */
amped_status amped_file_lock_take(const char *path, amped_file_lock *lock);

/* Release a lock; no effect if it is zeroed or already released. */
void amped_file_lock_release(amped_file_lock *lock);

/* Does a job hold the lock of this output now? False if there is no lock, or if there are no locks
 * on the file system. */
bool amped_file_lock_is_held(const char *path);

/* Is one of these two names the name of the other's lock? False if one of them is NULL. */
bool amped_file_lock_is_between(const char *a, const char *b);

/* From a signal handler on the main thread, before the process ends: remove the files of all held
 * locks. */
void amped_file_lock_abandon(void);

#endif
