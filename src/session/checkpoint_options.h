/* Checkpoint options: when a run saves its state, and whether it resumes. */
#ifndef AMPED_CHECKPOINT_OPTIONS_H
#define AMPED_CHECKPOINT_OPTIONS_H

#include "base/option.h"
#include "base/status.h"

typedef struct amped_checkpoint_options {
  const char *file;      /* NULL: no checkpoints */
  uint64_t every_sweeps; /* sweeps from one checkpoint to the next; 0: not given */
  double every_sec;      /* seconds from one checkpoint to the next; 0: not given */
  bool resume;
  bool result_on_signal;
} amped_checkpoint_options;

/* --checkpoint, --checkpoint-every, --resume */
extern const amped_option_group amped_checkpoint_option_rows;
extern const amped_option_group amped_on_signal_option_rows; /* --on-signal */

#endif
