/* Options check: checks options against each other and against the named files. It opens no file;
 * it only asks whether two names lead to the same file. */
#ifndef AMPED_OPTIONS_CHECK_H
#define AMPED_OPTIONS_CHECK_H

#include "cli/options.h"

/* Returns AMPED_USAGE, with a remedy, if options break a rule (cli/option_rules.h), or name one
 * file for two purposes. Fills in defaults; the name of a shape becomes the input's name. */
amped_status amped_options_check(amped_options *options);

#endif
