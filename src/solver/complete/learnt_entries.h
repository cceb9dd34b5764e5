/* Learnt entries: entries of an entry set that are also training nonzeros of the tensor. A model's
 * error at such an entry is a training error. */
#ifndef AMPED_LEARNT_ENTRIES_H
#define AMPED_LEARNT_ENTRIES_H

#include "solver/complete/entry_set.h"

/* Collective; the status is agreed. Remove these entries from the set, which is finished before and
 * after. *dropped = their number on all ranks. *held_out = the number of entries, of all ranks,
 * whose cell has a nonzero that is held out, and none that is learnt: they stay in the set. Cells
 * are compared by a hash of 64 bits. Takes 48 bytes of host memory per entry on every rank, for
 * 2^20 entries at a time, and traverses the rank's nonzeros once per such part. */
amped_status amped_learnt_entries_drop(const amped_context *context, amped_entry_set *set,
                                       uint64_t *dropped, uint64_t *held_out);

/* Collective; the status is agreed. *common = the number of entries of `set`, on all ranks, whose
 * cell `other` has, too. Takes as much memory as amped_learnt_entries_drop. */
amped_status amped_entries_in_common(const amped_context *context, const amped_entry_set *set,
                                     const amped_entry_set *other, uint64_t *common);

#endif
