/* Stream report: a stream and its batches, as lines for the user and as JSON lines. Collective; the
 * statuses are agreed. */
#ifndef AMPED_STREAM_REPORT_H
#define AMPED_STREAM_REPORT_H

#include "state/state_head.h"
#include "load/batch_source.h"
#include "session/session.h"
#include "solver/stream/stream.h"
#include "tensor/entry_sample.h"

/* Reports the state before the first batch, the memory of its rows, and on rank 0 the sizes of its
 * files. */
amped_status amped_stream_report_state(amped_session *session, const amped_state_head *head,
                                       const amped_state_file *file);

/* The results of a batch. */
typedef struct amped_stream_progress {
  const amped_source_batch *batch;
  const amped_learnt *learnt;
  const amped_state_head *head;   /* state after the batch */
  const amped_labels *labels;     /* [order] on rank 0; names of the modes are read */
  const amped_errors *so_far;     /* errors of the model at all held-out entries of the state */
  const amped_known_cells *cells; /* rank 0: cells of the batch that earlier ones had */
  double write_sec, total_sec;    /* seconds on this rank */
  uint64_t state_bytes, journal_bytes; /* rank 0: sizes on disk after the batch */
} amped_stream_progress;
amped_status amped_stream_report_batch(amped_session *session, const amped_stream_progress *told);

/* Reports that a batch is skipped because it was learnt before, as batch `number`. Warns if it had
 * other entries then. earlier: read on rank 0. */
amped_status amped_stream_report_skipped(amped_session *session, const amped_source_batch *batch,
                                         uint64_t number, const amped_state_batch *earlier);

typedef struct amped_stream_counts {
  uint64_t learnt, skipped; /* batches */
} amped_stream_counts;
amped_status amped_stream_report_end(amped_session *session, const amped_state_head *head,
                                     const amped_stream_counts *counts, double seconds);

#endif
