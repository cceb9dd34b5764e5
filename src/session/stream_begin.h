/* Stream begin: makes the first state of a stream from a full fit. The state has the factors as
 * they are, and each row's history: the normal equations of its entries, a count, or nothing. */
#ifndef AMPED_STREAM_BEGIN_H
#define AMPED_STREAM_BEGIN_H

#include "state/state_file.h"
#include "session/session.h"
#include "solver/complete/complete_search.h"

/* Adds the bytes of device and host memory that amped_stream_begin takes on this rank. weighted:
 * the fit has weights. */
void amped_stream_begin_require(const amped_worker *worker, const amped_plan *plan, bool biased,
                                bool weighted, amped_history history, uint64_t *device_bytes,
                                uint64_t *host_bytes);

/* Bytes of host memory for rank 0's lists of a state's entries: a sample of all, held-out ones (at
 * most `keep`), and the entries that are read at a time. */
uint64_t amped_stream_begin_entry_bytes(int order, uint64_t nnz, uint64_t keep, bool weighted);

/* Bytes of the state's rows, which are nearly the whole state. */
uint64_t amped_stream_begin_bytes(const amped_plan *plan, bool biased, amped_history history);

/* Collective; the status is agreed. Writes the state. The session's input must be open, and the
 * context's factors must be the factors of the best sweep. On rank 0, file: from
 * amped_state_file_reserve; labels: one per mode. keep: most held-out entries in the state. */
amped_status amped_stream_begin(const amped_session *session, const amped_complete_problem *problem,
                                const amped_complete_best *best, const amped_labels *labels,
                                amped_state_file *file, uint64_t keep, amped_history history);

#endif
