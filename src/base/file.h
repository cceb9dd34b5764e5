/* Questions about files on disk: are they readable or writable, the same, changed, and is there
 * enough space? base/draft.h writes files. */
#ifndef AMPED_FILE_H
#define AMPED_FILE_H

#include <stdbool.h>

#include "base/status.h"
#include "base/types.h"

/* AMPED_FAILED if the folder is missing or not writable, if path is a folder, or if another user's
 * link leads to it (base/target.h). */
amped_status amped_file_check_writable(const char *path);

/* The folder of temporary files: TMPDIR, else /tmp. Borrowed. */
const char *amped_file_scratch(void);

/* Would replacing this file lose anything: does it exist with at least one byte? False for pipes,
 * devices and folders. */
bool amped_file_holds(const char *path);

/* Is this the name of a pipe, a device or an open descriptor? Bytes go into it; a rename would
 * replace it. */
bool amped_file_is_special(const char *path);

/* Open a regular file for reading; -1: it is none, or cannot be opened. A pipe that is opened to
 * look at it would lose its writer. The caller closes it. */
int amped_file_open_regular(const char *path);

/* Does the path end with the suffix, in upper or lower case, after at least one other character? */
bool amped_file_has_suffix(const char *path, const char *suffix);

/* Bytes that a run is going to write. */
typedef struct amped_file_need {
  const char *path; /* a file, which may not exist yet, or a folder */
  uint64_t bytes;
  const char *remedy; /* remedy in addition to free disk space: "name another file" */
} amped_file_need;

/* Do the file systems have enough space for all of these? Needs on one file system add up.
 * AMPED_FAILED otherwise; the line gives the bytes needed and the bytes free. If the free space is
 * unknown, the answer is yes. */
amped_status amped_file_check_room(const amped_file_need *needs, int count);

/* Free bytes of a folder's file system; UINT64_MAX if unknown. *system is the number of the file
 * system: equal for two folders of one file system. */
uint64_t amped_file_room(const char *folder, uint64_t *system);

/* "PATH.prev", the name of the previous version of path; beside the target if path is a link. The
 * caller frees it with amped_free. */
amped_status amped_file_previous(const char *path, char **out);

/* The folder part of a path. The caller frees it with amped_free. */
amped_status amped_file_folder(const char *path, char **out);

/* AMPED_BAD_INPUT, with the reason, unless path is a regular file that can be read. *bytes is its
 * size; bytes may be NULL. */
amped_status amped_file_check_readable(const char *path, uint64_t *bytes);

/* Ask the system to read these bytes of an open file ahead of time. A disk is idle while a single
 * reader waits for each piece. A refusal is ignored. */
void amped_file_ask(int fd, uint64_t first, uint64_t bytes);

/* The state of an open file. Two stamps show whether the file was changed in place between them.
 * Replacing the file by another under the same name is no change: a process that has it open
 * continues reading the old file. */
typedef struct amped_file_stamp {
  uint64_t system, number, bytes;
  int64_t sec, nsec;             /* time of its last write */
  int64_t about_sec, about_nsec; /* time of the last change of its links, mode or bytes */
} amped_file_stamp;
amped_file_stamp amped_file_stamp_take(int fd);
/* Is it the same file, and was it not written? */
bool amped_file_stamp_same(const amped_file_stamp *a, const amped_file_stamp *b);
/* Is it the same, and was nothing else about it changed? */
bool amped_file_stamp_equal(const amped_file_stamp *a, const amped_file_stamp *b);
/* AMPED_BAD_INPUT: the file was changed or exchanged. This line replaces any error line recorded
 * earlier. */
amped_status amped_file_changed(const char *path);
/* amped_file_changed, if the open file was written since `before`; else AMPED_OK. */
amped_status amped_file_check_unchanged(int fd, const char *path, const amped_file_stamp *before);

/* Do both names lead to one existing file? */
bool amped_file_same(const char *a, const char *b);
/* Are these two names of one file, which may not exist yet? False if a name is NULL. */
bool amped_file_is_one(const char *a, const char *b);

/* Write all bytes at byte `at` of an open file. Returns errno, or 0. */
int amped_file_write_at(int fd, const void *from, uint64_t bytes, uint64_t at);

#endif
