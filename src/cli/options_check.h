/* Options together: which go with one another and with the files that are named. A pure function
 * but for looking at whether two names lead to one file. */
#ifndef AMPED_OPTIONS_CHECK_H
#define AMPED_OPTIONS_CHECK_H

#include "cli/options.h"

/* AMPED_USAGE, and what to leave out or name otherwise. A shape takes the place of the input's
 * name. */
amped_status amped_options_check(amped_options *options);

#endif
