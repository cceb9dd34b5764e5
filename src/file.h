/* Whole files on disk: the temporary name that becomes the final one only when all is written. */
#ifndef AMPED_FILE_H
#define AMPED_FILE_H

#include <stdbool.h>

#include "status.h"
#include "types.h"

/* "PATH.tmp.PID" beside path, amped_alloc'd. Fails at once (AMPED_FAILED) where the directory is
 * missing or not writable, or where path is there and no regular file. */
amped_status amped_file_temporary(const char *path, char **out);

/* Flush the temporary file to disk, rename it to path and flush the directory. On failure the
 * temporary file is removed. */
amped_status amped_file_commit(const char *temporary, const char *path);

/* Remove a temporary file; errors are ignored. */
void amped_file_discard(const char *temporary);

/* Regular and readable: AMPED_BAD_INPUT otherwise, with the reason. *bytes may be NULL. */
amped_status amped_file_check_readable(const char *path, uint64_t *bytes);

/* Do both names lead to one existing file? */
bool amped_file_same(const char *a, const char *b);

#endif
