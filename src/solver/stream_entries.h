/* Stream entries: entries of rank 0 that are dealt to all ranks, and the errors of a stream's model
 * at them. Every rank has all factors, so each finds the errors of its part. */
#ifndef AMPED_STREAM_ENTRIES_H
#define AMPED_STREAM_ENTRIES_H

#include "backend/row_fit.h"
#include "factor/stream_rows.h"

/* Of `count` things that are dealt to so many ranks in order: those of ranks before this one. */
uint64_t amped_stream_share(uint64_t count, int rank, int nranks);

/* Collective; the status is agreed. *mine = this rank's part of rank 0's list, about as many of it
 * as others have; the list of other ranks is not looked at. Rank 0's part comes first, and
 * stays in the list, which outlives it. free follows, unless this fails; it takes a zeroed *dealt,
 * too, and is not collective. */
amped_status amped_stream_entries_deal(const amped_comm *comm, const amped_sptensor *list,
                                       amped_sptensor *dealt, const amped_sptensor **mine);
void amped_stream_entries_free(const amped_comm *comm, amped_sptensor *dealt);

/* Collective; the status is agreed. Errors to come are at the entries of all parts, which are the
 * caller's as long as he asks for them. */
amped_status amped_stream_entries_enter(const amped_comm *comm, const amped_stream_rows *rows,
                                        const amped_sptensor *mine);

/* Collective; the status is agreed. Errors of the rows' model at these entries, or at those of them
 * that are held out. Indices are below the rows' dims. */
amped_status amped_stream_entries_errors(const amped_comm *comm, const amped_stream_rows *rows,
                                         const amped_state_head *head, bool held,
                                         amped_errors *out);

/* Is the entry held out? */
bool amped_stream_entry_is_held(const amped_state_head *head, const amped_sptensor *list,
                                uint64_t entry);

#endif
