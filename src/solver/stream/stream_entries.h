/* Stream entries: distribution of rank 0's entries to all ranks, and errors of a stream's model at
 * entries. Every rank has all factors, so each rank finds the errors of its part. */
#ifndef AMPED_STREAM_ENTRIES_H
#define AMPED_STREAM_ENTRIES_H

#include "backend/row_fit.h"
#include "factor/stream_rows.h"
#include "tensor/labels.h"

/* Labels of every mode, by which entries are recognised (amped_label_key): `all`, and `added` of
 * the indices that follow. NULL: none. */
typedef struct amped_stream_labels {
  const amped_labels *all, *added;
} amped_stream_labels;

/* Number of items that lower ranks have, if `count` items are distributed over nranks ranks in
 * order. */
uint64_t amped_stream_share(uint64_t count, int rank, int nranks);

/* Collective; the status is agreed. *mine = this rank's part of rank 0's list; parts have about the
 * same size. The lists of other ranks are ignored. Rank 0 has the first part. It stays in the list,
 * which must outlive it. Call free afterwards, except after a failure. free accepts a zeroed
 * struct, and is not collective. */
amped_status amped_stream_entries_distribute(const amped_comm *comm, const amped_sptensor *list,
                                             amped_sptensor *distributed,
                                             const amped_sptensor **mine);
void amped_stream_entries_free(const amped_comm *comm, amped_sptensor *distributed);

/* Collective; the status is agreed. *held = marks of the entries that are held out: rank 0's of its
 * whole list, of `count` entries; others' of their part, of `own`. NULL: no entry is held out. The
 * caller frees them. labels: rank 0's. */
amped_status amped_stream_entries_hold(const amped_comm *comm, const amped_state_head *head,
                                       const amped_stream_labels *labels,
                                       const amped_sptensor *list, uint64_t own, bool **held);

/* Collective; the status is agreed. Set the entries, of all ranks' parts, for the next calls of
 * errors. held: which are held out; NULL: none. The caller keeps them as long as errors are asked
 * for. */
amped_status amped_stream_entries_enter(const amped_comm *comm, const amped_stream_rows *rows,
                                        const amped_sptensor *mine, const bool *held);

/* Collective; the status is agreed. *out = errors of the rows' model at all ranks' entries; held:
 * only at held-out entries. Indices are below the rows' dims. */
amped_status amped_stream_entries_errors(const amped_comm *comm, const amped_stream_rows *rows,
                                         const amped_state_head *head, bool held,
                                         amped_errors *out);

/* Returns true if entry number `entry` of the list is held out. */
bool amped_stream_entry_is_held(const amped_state_head *head, const amped_stream_labels *labels,
                                const amped_sptensor *list, uint64_t entry);

#endif
