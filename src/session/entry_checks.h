/* Entry checks: what makes an error at the entries of --validate or --test worthless, or too low.
 * Warnings and refusals name the file. Functions are collective and their statuses are agreed. */
#ifndef AMPED_ENTRY_CHECKS_H
#define AMPED_ENTRY_CHECKS_H

#include "session/session.h"
#include "solver/complete/entry_set.h"

/* Remove entries that are learnt from the tensor. Rank 0 warns of them, and of entries that are
 * held out of the tensor. AMPED_BAD_INPUT: no entry is left. */
amped_status amped_entry_checks_drop(const amped_session *session, const char *option,
                                     const char *path, amped_entry_set *set);

/* Rank 0 warns of test entries that validate, and so choose the sweep, too. */
amped_status amped_entry_checks_common(const amped_session *session, const char *path,
                                       const amped_entry_set *set, const char *validate,
                                       const amped_entry_set *validating);

/* AMPED_BAD_INPUT unless every value is above 0: entries that are ranked must be events. */
amped_status amped_entry_checks_events(const amped_session *session, const char *path,
                                       const amped_entry_set *set);

/* Rank 0 says in which modes entries have labels or indices that the tensor does not have, and
 * warns if all have such labels in one mode. labels: the tensor's, on rank 0. prior: of the modes'
 * rows (row_fit.h), if these stand for missing rows; NULL: mean rows do. */
void amped_entry_checks_new(const amped_session *session, const amped_labels *labels,
                            const char *path, const amped_entry_set *set, const double *prior);

#endif
