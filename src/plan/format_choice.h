/* Format choice: which modes get their own copy of the nonzeros, and which share one?
 *
 * A copy per mode is faster if it fits on the device. If not, a part of it is streamed in every
 * sweep, and one copy may lose less time than it saves: a byte of it that stays on the device
 * serves all modes. In a mixture some modes have their own copies in the memory that the shared one
 * leaves. Seconds are rough predictions from sizes and rates; a wrong choice costs time, never a
 * failure. Pure functions. */
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

/* A choice of copies for a tensor. */
typedef struct amped_choice {
  unsigned own; /* bit per mode with its own copy, as in the plan; the others share one */
  double bytes, streamed_bytes; /* bytes of all of a rank's copies; bytes streamed in a sweep */
  double sec;                   /* seconds of a sweep */
  bool planned;                 /* sizes come from a plan; else they are predicted, too */
} amped_choice;

/* Bytes and seconds of a rank, from which mixtures are predicted. Each is the maximum over ranks,
 * except `room`, which is a minimum. */
typedef struct amped_choice_sizes {
  int order;
  int boxed;                                                   /* mode of the shared copy */
  double own_bytes[AMPED_MAX_ORDER], own_sec[AMPED_MAX_ORDER]; /* each own copy; its kernels */
  double boxed_bytes, boxed_sec[AMPED_MAX_ORDER]; /* shared copy; its kernels per mode */
  /* Bytes left for own copies, after the shared copy and the memory for making and streaming own
   * copies. Not above 0: none. */
  double room;
  bool streams; /* true: copies that do not fit are streamed; false: they are impossible */
} amped_choice_sizes;

/* Most mixtures. */
#define AMPED_CHOICE_MOST (1 << (AMPED_MAX_ORDER - 1))

/* List the possible mixtures, fastest first; returns their number. A copy for each mode and one
 * copy for all modes are not among them. */
int amped_choice_mixtures(const amped_choice_sizes *sizes, const amped_choice_rates *rates,
                          amped_choice out[AMPED_CHOICE_MOST]);

/* Sort choices: fastest first; if equally fast, fewer bytes first. */
void amped_choice_sort(amped_choice *choices, int count);

#endif
