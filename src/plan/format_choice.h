/* Format choice: a copy of the nonzeros for each mode, or one for all modes?
 *
 * A copy per mode is faster if it fits on the device. If not, a part of it is streamed in every
 * sweep, and one copy may lose less time than it saves: a byte of it that stays on the device
 * serves all modes. Seconds are rough predictions from sizes and rates; a wrong choice costs time,
 * never a failure. Pure functions. */
#ifndef AMPED_FORMAT_CHOICE_H
#define AMPED_FORMAT_CHOICE_H

#include "plan/plan.h"

/* A level of the memory hierarchy, and its rates for rows. */
typedef struct amped_choice_level {
  uint64_t bytes; /* bytes of rows that fit; UINT64_MAX: device memory, the last level */
  double gather_rate, add_rate; /* bytes per second: of rows gathered from here; of rows to which
                                   numbers are added here */
} amped_choice_level;

/* Rates of a device: about those measured on a GPU (docs/decisions/066-boxes-on-gpus.md). Rows
 * shorter than least_row_bytes take as long as rows of this length (042-requests-not-bytes.md). */
typedef struct amped_choice_rates {
  amped_choice_level levels[3]; /* nearest first */
  double least_row_bytes;
  double bundle_nnz;  /* sorted nonzeros in which rows are reused */
  double stream_rate; /* bytes per second from host memory */
} amped_choice_rates;

extern const amped_choice_rates amped_choice_rates_gpu;

/* Seconds of a sweep over the nonzeros of plan->rank, with streamed_bytes transferred per mode. A
 * mode takes the longer of its kernels and its transfers, because only two pieces are transferred
 * ahead. The plan may have any copies. */
double amped_choice_seconds(const amped_plan *plan, const uint64_t streamed_bytes[AMPED_MAX_ORDER],
                            const amped_choice_rates *rates);

/* Seconds of one mode's kernels in a sweep over the nonzeros of plan->rank, without transfers. */
double amped_choice_mode_seconds(const amped_plan *plan, int mode, const amped_choice_rates *rates);

#endif
