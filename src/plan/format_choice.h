/* Format choice: which modes get a copy of the nonzeros of their own, and which share one?
 *
 * A copy for each mode is faster where it fits on the device. Where it does not, a part of it is
 * streamed in every sweep, and one copy may lose less time than it saves: a byte of it that stays
 * on the device serves all modes. In a mixture some modes have copies of their own in the memory
 * that the shared one leaves. Seconds are predicted from sizes and rates, about; a wrong choice
 * costs time, never a failure. Pure functions. */
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

/* Seconds of a sweep over the nonzeros of plan->rank, of which each mode transfers streamed_bytes:
 * each takes the longer of its kernels and its transfers, as two pieces are all that comes ahead.
 * The plan's copies may be any. */
double amped_choice_seconds(const amped_plan *plan, const uint64_t streamed_bytes[AMPED_MAX_ORDER],
                            const amped_choice_rates *rates);

/* Seconds of the kernels of one mode in it. */
double amped_choice_mode_seconds(const amped_plan *plan, int mode, const amped_choice_rates *rates);

/* Copies that a tensor may have. */
typedef struct amped_choice {
  unsigned own; /* modes with copies of their own, as in the plan; others share one */
  double bytes, streamed_bytes; /* of all of a rank's copies; of them in a sweep */
  double sec;                   /* of a sweep */
  bool planned;                 /* sizes are those of a plan; else they are predicted, too */
} amped_choice;

/* Sizes from which mixtures are predicted: of a rank, of all ranks the largest numbers. */
typedef struct amped_choice_sizes {
  int order;
  int boxed;                                                   /* mode of the shared copy */
  double own_bytes[AMPED_MAX_ORDER], own_sec[AMPED_MAX_ORDER]; /* of each mode's own copy */
  double boxed_bytes, boxed_sec[AMPED_MAX_ORDER];              /* of the shared one, for a mode */
  /* For copies of their own: beside all of the shared one, and beside what is needed to make and to
   * stream them. Not above 0: there is none. */
  double room;
  bool streams; /* copies that do not fit are streamed; else they are not possible */
} amped_choice_sizes;

/* The most mixtures. */
#define AMPED_CHOICE_MOST (1 << (AMPED_MAX_ORDER - 1))

/* The mixtures that are possible, the fastest first; returns their number. None of them is a copy
 * for each mode, nor one for all. */
int amped_choice_mixtures(const amped_choice_sizes *sizes, const amped_choice_rates *rates,
                          amped_choice out[AMPED_CHOICE_MOST]);

/* Put choices in order: the fastest first, of equal ones that of fewer bytes. */
void amped_choice_sort(amped_choice *choices, int count);

#endif
