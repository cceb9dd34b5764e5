/* File timing: how long a file is read, or a new one written and flushed, with nothing beside it.
 * These times bound the loading of a file and the saving of a result. Host memory; not
 * collective. */
#ifndef AMPED_FILE_TIMING_H
#define AMPED_FILE_TIMING_H

#include <stdint.h>

#include "base/status.h"

/* Read bytes first .. end of a file in pieces, on all OpenMP threads, and forget them.
 * AMPED_BAD_INPUT: it cannot be read, or ends before. */
amped_status amped_file_timing_read(const char *path, uint64_t first, uint64_t end,
                                    double *seconds);

/* Write so many bytes to a draft of path (base/draft.h), and flush it: the time of
 * dd conv=fsync. The draft is removed. AMPED_FAILED: it cannot be written. */
amped_status amped_file_timing_write(const char *path, uint64_t bytes, double *seconds);

#endif
