/* Whole files on disk. A file is written under a temporary name, and gets its final name only when
 * it is complete. */
#ifndef AMPED_FILE_H
#define AMPED_FILE_H

#include <stdbool.h>

#include "base/status.h"
#include "base/types.h"

/* "PATH.tmp.PID" in the folder of path; the caller frees it with amped_free. AMPED_FAILED at once
 * where the folder is missing or not writable, or where path exists and is not a regular file. */
amped_status amped_file_temporary(const char *path, char **out);
/* The same checks, without the name. */
amped_status amped_file_check_writable(const char *path);

/* Does the path end with the suffix, in upper or lower case, and have a stem in front of it? */
bool amped_file_has_suffix(const char *path, const char *suffix);

/* Flush the temporary file to disk, rename it to path and flush the directory. On failure the
 * temporary file is removed. */
amped_status amped_file_commit(const char *temporary, const char *path);

/* Remove a temporary file; errors are ignored. */
void amped_file_discard(const char *temporary);

/* Has the file system of path's folder room for this number of bytes? AMPED_FAILED otherwise; the
 * line says how many bytes are needed and how many are free. Where the system does not tell, the
 * answer is yes. */
amped_status amped_file_check_room(const char *path, uint64_t bytes);

/* Free bytes of a folder's file system; UINT64_MAX where the system does not tell. *system is the
 * number of the file system: equal for two folders of one file system. */
uint64_t amped_file_room(const char *folder, uint64_t *system);

/* "PATH.prev", the name of the previous version of path. The caller frees it with amped_free. */
amped_status amped_file_previous(const char *path, char **out);

/* The folder part of a path. The caller frees it with amped_free. */
amped_status amped_file_folder(const char *path, char **out);

/* AMPED_BAD_INPUT, with the reason, unless path is a regular file that can be read. *bytes is its
 * size; bytes may be NULL. */
amped_status amped_file_check_readable(const char *path, uint64_t *bytes);

/* Ask the system to read these bytes of an open file ahead of time. A disk is idle while a single
 * reader waits for each piece. A refusal is ignored. */
void amped_file_ask(int fd, uint64_t first, uint64_t bytes);

/* The state of a file on disk. Two stamps tell whether the file was changed in place between them.
 * A file that was replaced by another under the same name is not changed: a process that has it
 * open goes on reading the old file. */
typedef struct amped_file_stamp {
  uint64_t system, number, bytes;
  int64_t sec, nsec;
} amped_file_stamp;
amped_file_stamp amped_file_stamp_take(const char *path);
/* AMPED_BAD_INPUT where the file was changed in place since `before`. This line replaces any error
 * line that was recorded earlier. */
amped_status amped_file_check_unchanged(const char *path, const amped_file_stamp *before);

/* Do both names lead to one existing file? */
bool amped_file_same(const char *a, const char *b);
/* The same name, or two names of one existing file? No where one of them is NULL. */
bool amped_file_is_one(const char *a, const char *b);

#endif
