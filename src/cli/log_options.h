/* Log options: the user's choice of progress and level of detail. */
#ifndef AMPED_LOG_OPTIONS_H
#define AMPED_LOG_OPTIONS_H

#include "base/log.h"
#include "base/option.h"

typedef struct amped_log_options {
  amped_verbosity verbosity;
  amped_progress_when progress;
} amped_log_options;

extern const amped_option_group amped_log_option_rows; /* --progress, --verbose, --quiet */

#endif
