/* Lock of an output: one job at a time writes a file.
 *
 * PATH.lock beside the file, locked by the kernel and removed at the end. What a killed job leaves
 * behind is no lock any more: the next job takes it over, and removes that job's temporary files
 * (PATH.tmp.PID), too, if it ran on this host. On a file system without locks nothing is refused
 * and nothing removed. */
#ifndef AMPED_FILE_LOCK_H
#define AMPED_FILE_LOCK_H

#include "base/status.h"

typedef struct amped_file_lock {
  char *name; /* NULL: nothing is held */
  int fd;
} amped_file_lock;

/* AMPED_FAILED, and who has it, where another job does. The directory exists
 * (amped_file_check_writable). On failure nothing is left to release. */
amped_status amped_file_lock_take(const char *path, amped_file_lock *lock);

/* What is zeroed or was released may be released. */
void amped_file_lock_release(amped_file_lock *lock);

#endif
