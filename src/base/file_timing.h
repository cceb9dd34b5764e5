/* File timing: seconds to read a file, or to write and flush a new one, without any other work.
 * These times bound the loading of a file and the saving of a result. Host memory; not
 * collective. */
#ifndef AMPED_FILE_TIMING_H
#define AMPED_FILE_TIMING_H

#include <stdint.h>

#include "base/status.h"

/* Read bytes first .. end of a file in pieces, on all OpenMP threads, and discard them.
 * AMPED_BAD_INPUT if the file cannot be read, or ends early. */
amped_status amped_file_timing_read(const char *path, uint64_t first, uint64_t end,
                                    double *seconds);

/* Write `bytes` bytes to a draft of path (base/draft.h), and flush it: the time of dd conv=fsync.
 * The draft is removed. AMPED_FAILED if it cannot be written. */
amped_status amped_file_timing_write(const char *path, uint64_t bytes, double *seconds);

#endif
