/* Format choice: a copy of the nonzeros for each mode, or one for all modes?
 *
 * A copy for each mode is faster where it fits on the device. Where it does not, a part of it is
 * streamed in every sweep, and one copy may lose less time than it saves: a byte of it that stays
 * on the device serves all modes. Seconds are predicted from sizes and rates, about; a wrong choice
 * costs time, never a failure. A pure function. */
#ifndef AMPED_FORMAT_CHOICE_H
#define AMPED_FORMAT_CHOICE_H

#include "plan/plan.h"

/* A place where rows lie, and how fast they go there. */
typedef struct amped_choice_level {
  uint64_t bytes;               /* of rows that it holds; UINT64_MAX: the memory, the last level */
  double gather_rate, add_rate; /* bytes a second of rows read from there; of rows added to there */
} amped_choice_level;

/* Rates of a device: what a GPU was measured at, about (docs/decisions/066-boxes-on-gpus.md).
 * Rows that are shorter than least_row_bytes take as long as such (042-requests-not-bytes.md). */
typedef struct amped_choice_rates {
  amped_choice_level levels[3]; /* nearest first */
  double least_row_bytes;
  double bundle_nnz;  /* of sorted nonzeros, whose rows come again in it */
  double stream_rate; /* bytes a second from the host's memory */
} amped_choice_rates;

extern const amped_choice_rates amped_choice_rates_gpu;

/* Seconds of a sweep over the nonzeros of plan->rank, of which streamed_bytes are transferred: the
 * longer of kernels and transfers. The plan has a copy for each mode, or one. */
double amped_choice_seconds(const amped_plan *plan, uint64_t streamed_bytes,
                            const amped_choice_rates *rates);

#endif
