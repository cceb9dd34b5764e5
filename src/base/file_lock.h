/* Lock of an output file: one job at a time writes it.
 *
 * The lock is a file PATH.lock beside the output, locked by the kernel (flock) and removed at the
 * end. The kernel drops the lock of a killed job, so the next job can take over the file PATH.lock.
 * If the killed job ran on this host, the next job also removes its temporary files (PATH.tmp.PID).
 * On a file system without locks, no job is refused and no file is removed. */
#ifndef AMPED_FILE_LOCK_H
#define AMPED_FILE_LOCK_H

#include "base/status.h"

/* Most locks of a process: a result of each number of components, and two more. */
#define AMPED_MOST_LOCKS 68

typedef struct amped_file_lock {
  char *name; /* amped_alloc'd; NULL: no lock is held */
  int fd;
  char *temporary; /* of the output, which is removed where the process is ended by a signal */
} amped_file_lock;

/* AMPED_FAILED where another job holds the lock; the line names the job. The directory must exist
 * (amped_file_check_writable). On failure there is nothing to release. A pipe or a device needs no
 * lock. Main thread. */
amped_status amped_file_lock_take(const char *path, amped_file_lock *lock);

/* Does nothing for a lock that is zeroed or released already. */
void amped_file_lock_release(amped_file_lock *lock);

/* From a signal handler on the main thread, before the process ends: remove the files of all locks
 * that are held, and the temporary files of their outputs. */
void amped_file_lock_abandon(void);

#endif
