/* Whole files on disk: the temporary name that becomes the final one only when all is written. */
#ifndef AMPED_FILE_H
#define AMPED_FILE_H

#include <stdbool.h>

#include "base/status.h"
#include "base/types.h"

/* "PATH.tmp.PID" beside path, amped_alloc'd. Fails at once (AMPED_FAILED) where the directory is
 * missing or not writable, or where path is there and no regular file. */
amped_status amped_file_temporary(const char *path, char **out);
/* Fails where that does. */
amped_status amped_file_check_writable(const char *path);

/* Does the path end with the suffix, in upper or lower case, and begin with something else? */
bool amped_file_has_suffix(const char *path, const char *suffix);

/* Flush the temporary file to disk, rename it to path and flush the directory. On failure the
 * temporary file is removed. */
amped_status amped_file_commit(const char *temporary, const char *path);

/* Remove a temporary file; errors are ignored. */
void amped_file_discard(const char *temporary);

/* Is there room for so many bytes more on the file system of path's folder? AMPED_FAILED otherwise,
 * with what is needed and what is free. Where the system does not tell, there is. */
amped_status amped_file_check_room(const char *path, uint64_t bytes);

/* The free bytes of a folder's file system (UINT64_MAX where the system does not tell), and the
 * number that is the same for folders of one file system. */
uint64_t amped_file_room(const char *folder, uint64_t *system);

/* "PATH.prev", where the version before path's is kept, amped_alloc'd. */
amped_status amped_file_previous(const char *path, char **out);

/* The folder part of a path, amped_alloc'd. */
amped_status amped_file_folder(const char *path, char **out);

/* Regular and readable: AMPED_BAD_INPUT otherwise, with the reason. *bytes may be NULL. */
amped_status amped_file_check_readable(const char *path, uint64_t *bytes);

/* Ask the system to read these bytes of an open file ahead of time: one reader that waits for each
 * piece keeps a disk idle. Nothing is lost where it will not. */
void amped_file_ask(int fd, uint64_t first, uint64_t bytes);

/* What tells whether a file is changed in place between two looks. Where another file has taken its
 * name, it is not: who has it open goes on with the old one. */
typedef struct amped_file_stamp {
  uint64_t system, number, bytes;
  int64_t sec, nsec;
} amped_file_stamp;
amped_file_stamp amped_file_stamp_take(const char *path);
/* AMPED_BAD_INPUT where it was; the line takes the place of any that was recorded before. */
amped_status amped_file_check_unchanged(const char *path, const amped_file_stamp *before);

/* Do both names lead to one existing file? */
bool amped_file_same(const char *a, const char *b);
/* The same name, or names of one existing file? Not where one of them is NULL. */
bool amped_file_is_one(const char *a, const char *b);

#endif
