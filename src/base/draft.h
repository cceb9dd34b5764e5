/* Draft: an output that is being written. Every file that this program writes is first a draft.
 *
 * A draft lies beside its target (base/target.h) under a name that nobody can guess,
 * "TARGET.tmp.PID.RANDOM". It is always a new file: no existing file is opened. Only its user may
 * read or write it. Code that fills it uses only its descriptor. amped_draft_publish flushes it and
 * renames it: the target is the old file or the new one. The new file keeps the mode and the group
 * of the old one.
 *
 * Pipes and devices have no draft beside them: bytes go straight into them. If the writer seeks,
 * bytes are kept in a file without a name in amped_file_scratch until the draft is published. Bytes
 * for a descriptor of this process (/dev/stdout) follow the bytes written there before.
 *
 * Host memory; not collective; any thread, one at a time for each draft. */
#ifndef AMPED_DRAFT_H
#define AMPED_DRAFT_H

#include <stdbool.h>

#include "base/status.h"
#include "base/target.h"

typedef struct amped_draft {
  bool open;
  int fd;           /* for reading and writing; a straight target: for writing only */
  const char *path; /* the user's name for it, for messages; borrowed */
  amped_target target;
  int entry;    /* in the list of drafts that a signal removes; -1: it has no name of its own */
  bool gathers; /* bytes wait in an unnamed file until they go into a straight target */
} amped_draft;

/* AMPED_FAILED if the target's folder is missing or not writable, or its file system is full.
 * seeks: the writer needs a file. On failure there is nothing to close. */
amped_status amped_draft_open(const char *path, bool seeks, amped_draft *out);

/* Flush the draft, give it its name, flush the folder and close the draft. previous: the old file
 * becomes "TARGET.prev". On failure the draft is removed, and the target is the old file. */
amped_status amped_draft_publish(amped_draft *draft, bool previous);

/* Give an empty draft its name at once, in place of the old file: bytes written later are visible
 * immediately. amped_draft_close ends it. */
amped_status amped_draft_show(amped_draft *draft);

/* Give the draft its name at once, if no file has this name. Returns errno: EEXIST if a file has
 * it; or 0. amped_draft_close ends it. */
int amped_draft_claim(amped_draft *draft);

/* Close a draft, and remove it unless it has its name. Accepts a zeroed or closed draft. */
void amped_draft_close(amped_draft *draft);

/* The draft's own path, which the caller frees (amped_free): another output may be written to that
 * name, and close removes it. */
amped_status amped_draft_path(const amped_draft *draft, char **out);

/* From a signal handler, before the process ends: remove all drafts. */
void amped_draft_abandon(void);

/* Is this entry of a folder a leftover draft of `base`: a draft's name, in a form that any version
 * of this program used, whose process has ended? */
bool amped_draft_is_left(const char *entry, const char *base);

#endif
