/* Stream begin: the state with which a stream begins, from a full fit: its factors as they are, and
 * the equations that its entries leave with every row, or nothing, as the history has it. */
#ifndef AMPED_STREAM_BEGIN_H
#define AMPED_STREAM_BEGIN_H

#include "hdf5/state_file.h"
#include "session/session.h"
#include "solver/complete_search.h"

/* Adds the bytes of the device's and of host memory that begin takes on this rank. */
void amped_stream_begin_require(const amped_worker *worker, const amped_plan *plan, bool biased,
                                amped_history history, uint64_t *device_bytes,
                                uint64_t *host_bytes);

/* Bytes of the state's rows: nearly all of it. */
uint64_t amped_stream_begin_bytes(const amped_plan *plan, bool biased, amped_history history);

/* Collective; the status is agreed. Writes the state. file: rank 0's, reserved. The context's
 * factors are those of the best sweep; the session's input is open. labels: one a mode, of rank 0.
 * keep: most held-out entries that the state keeps. */
amped_status amped_stream_begin(const amped_session *session, const amped_complete_problem *problem,
                                const amped_complete_best *best, const amped_labels *labels,
                                amped_state_file *file, uint64_t keep, amped_history history);

#endif
