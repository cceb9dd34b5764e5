/* Stream result: the current model of a stream, as a result file of `complete`. */
#ifndef AMPED_STREAM_RESULT_H
#define AMPED_STREAM_RESULT_H

#include "factor/stream_rows.h"
#include "session/session.h"

/* Collective; the status is agreed. Rank 0 writes the file `path`. labels: one per mode, borrowed,
 * and hash: of the stream's first tensor; both are read on rank 0 only. */
amped_status amped_stream_result_write(const amped_session *session, const amped_state_head *head,
                                       const amped_stream_rows *rows, const amped_labels *labels,
                                       uint64_t hash, const char *path);

#endif
