/* Command line: parses argv into the options of a command, and checks each option alone.
 *
 * The first argument names the command, or is a file for cpd. A command takes the options of its
 * groups and the common options. Another option is AMPED_USAGE, with the nearest name, and so is a
 * value out of range. No file is opened. cli/options_check.h checks options against each other. */
#ifndef AMPED_COMMAND_LINE_H
#define AMPED_COMMAND_LINE_H

#include "cli/commands.h"

/* Parse. *done is true after the answer to --help, --version or --complete (cli/help.h): the
 * program then ends. Strings are borrowed from argv. */
amped_status amped_command_line_parse(int argc, char **argv, amped_options *out, bool *done);

#endif
