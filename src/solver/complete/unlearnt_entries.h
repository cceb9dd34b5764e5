/* Unlearnt entries: held-out nonzeros with a row without training nonzeros. Their errors take the
 * mean row, as predict does (mean_rows.h), while row fits leave such a row at its prior. */
#ifndef AMPED_UNLEARNT_ENTRIES_H
#define AMPED_UNLEARNT_ENTRIES_H

#include "solver/complete/entry_set.h"

/* Collective; the status is agreed. *out = these entries, in modes that are not fixed, of this
 * rank; of_mode[m] = number of such rows of mode m in the entries of all ranks. *out is empty on
 * failure; the caller frees it. */
amped_status amped_unlearnt_entries_find(const amped_context *context,
                                         const amped_row_counts *counts,
                                         const amped_fixed_modes *fixed, amped_entry_set *out,
                                         uint64_t of_mode[AMPED_MAX_ORDER]);

#endif
