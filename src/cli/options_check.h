/* Options check: checks options against each other and against the named files. It opens no file;
 * it only asks whether two names lead to the same file. */
#ifndef AMPED_OPTIONS_CHECK_H
#define AMPED_OPTIONS_CHECK_H

#include "cli/options.h"

/* AMPED_USAGE with a remedy where options contradict each other. The name of a shape takes the
 * place of the input's name. */
amped_status amped_options_check(amped_options *options);

#endif
