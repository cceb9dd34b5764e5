/* Draft: an output that is being written. Every file that this program writes is one.
 *
 * A draft lies beside its target (base/target.h) under a name that nobody can guess,
 * "TARGET.tmp.PID.RANDOM", and is made anew: it never opens what was there. Nobody else may read or
 * write it. Whoever fills it uses its descriptor alone. amped_draft_publish flushes it and renames
 * it: the target is the old file or the new one. The new file keeps the mode and the group of the
 * old one.
 *
 * Pipes and devices have no draft beside them: bytes go straight into them. Where the writer seeks,
 * they are kept in a file without a name in amped_file_scratch until the draft is published. Bytes
 * for a descriptor of this process (/dev/stdout) follow those that went there before.
 *
 * Host memory; not collective; any thread, one at a time for each draft. */
#ifndef AMPED_DRAFT_H
#define AMPED_DRAFT_H

#include <stdbool.h>

#include "base/status.h"
#include "base/target.h"

typedef struct amped_draft {
  bool open;
  int fd;           /* to read and write; of a straight target to write alone */
  const char *path; /* as the user named it, for messages; borrowed */
  amped_target target;
  int entry;    /* in the list of drafts that a signal removes; -1: it has no name of its own */
  bool gathers; /* a file without a name, for a straight target */
} amped_draft;

/* AMPED_FAILED where the target's folder is missing or not writable, or its file system is full.
 * seeks: the writer needs a file. On failure there is nothing to close. */
amped_status amped_draft_open(const char *path, bool seeks, amped_draft *out);

/* Flush the draft, give it its name, flush the folder and close the draft. previous: the old file
 * becomes "TARGET.prev". On failure the draft is removed, and the target is the old file. */
amped_status amped_draft_publish(amped_draft *draft, bool previous);

/* Give an empty draft its name at once, in the place of the old file: bytes that are written later
 * are seen as they come. amped_draft_close ends it. */
amped_status amped_draft_show(amped_draft *draft);

/* Give it its name at once, if nothing has that name. Returns errno: EEXIST where something has; or
 * 0. amped_draft_close ends it. */
int amped_draft_claim(amped_draft *draft);

/* Close a draft, and remove it unless it has its name. Accepts one that is zeroed or closed. */
void amped_draft_close(amped_draft *draft);

/* The draft's own path, of amped_alloc: another output may be written to that name, and close
 * removes it. */
amped_status amped_draft_path(const amped_draft *draft, char **out);

/* From a signal handler, before the process ends: remove all drafts. */
void amped_draft_abandon(void);

/* Is this entry of a folder the name of a draft of `base`, in a form that any version of this
 * program used, whose process has ended? */
bool amped_draft_is_left(const char *entry, const char *base);

#endif
