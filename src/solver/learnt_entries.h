/* Learnt entries: entries of an entry set whose cells are nonzeros of the tensor that are learnt. A
 * model's error there is one of training. */
#ifndef AMPED_LEARNT_ENTRIES_H
#define AMPED_LEARNT_ENTRIES_H

#include "solver/entry_set.h"

/* Collective; the status is agreed. Takes these entries out of the set, which is finished before
 * and after. *dropped: their number, of all ranks. Cells are compared by a hash of 64 bits. Takes
 * 48 bytes of host memory an entry on every rank, for 2^20 entries at a time, and goes over the
 * rank's nonzeros for each such part. */
amped_status amped_learnt_entries_drop(const amped_context *context, amped_entry_set *set,
                                       uint64_t *dropped);

#endif
