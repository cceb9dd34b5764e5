/* Stream options: the user's options of streams. Strings are borrowed from argv. */
#ifndef AMPED_STREAM_OPTIONS_H
#define AMPED_STREAM_OPTIONS_H

#include "base/option.h"
#include "state/state_head.h"
#include "load/batch_source.h"

typedef struct amped_stream_options {
  const char *state; /* complete: file of the state that a stream begins with; or NULL */
  uint64_t keep;     /* maximum number of held-out entries in the state */
  amped_history history;
  const char *by; /* a mode's name, or its number from 1; or NULL */
  uint64_t batch; /* indices of `by` per batch; 0: not given */
  bool has_boxes;
  amped_boxes boxes;
  const char *follow; /* a folder, or NULL */
  bool snapshots;     /* batches are snapshots (load/snapshot.h) */
  uint64_t max_rows;  /* maximum number of rows per mode; 0: not given */
  double forget;      /* 0: not given */
  int sweeps;
  bool random_order; /* modes in a new random order in each sweep */
} amped_stream_options;

extern const amped_option_group amped_state_option_rows;   /* --state, --keep-validation */
extern const amped_option_group amped_history_option_rows; /* --history */
extern const amped_option_group amped_learn_option_rows;   /* --forget, --sweeps */
extern const amped_option_group amped_stream_option_rows;  /* the others */

#endif
