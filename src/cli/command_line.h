/* Command line: from argv to the options of a command, checked one by one.
 *
 * The first argument names the command, or is a file for cpd. A command takes the options of its
 * groups and the common ones. Any other is AMPED_USAGE, with the nearest name, as is a value out of
 * range, before a file is opened. How options go together is checked by cli/options_check.h. */
#ifndef AMPED_COMMAND_LINE_H
#define AMPED_COMMAND_LINE_H

#include "cli/commands.h"

/* Parse. *done is true where --help, --version or --complete (cli/help.h) was answered and nothing
 * is left to do. Strings are borrowed from argv. */
amped_status amped_command_line_parse(int argc, char **argv, amped_options *out, bool *done);

#endif
