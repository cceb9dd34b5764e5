/* Command line: parses argv into the options of a command, and checks each option by itself.
 *
 * The first argument names the command; if it names none, it is a file for cpd. A command accepts
 * the options of its groups and the common options. An unknown option is AMPED_USAGE, with the
 * nearest name. A value out of range is AMPED_USAGE, too. No file is opened. cli/options_check.h
 * checks options against each other. */
#ifndef AMPED_COMMAND_LINE_H
#define AMPED_COMMAND_LINE_H

#include "cli/commands.h"

/* Parses argv. *done is true if --help, --version or --complete was answered (cli/help.h): the
 * program then ends. Strings are borrowed from argv. */
amped_status amped_command_line_parse(int argc, char **argv, amped_options *out, bool *done);

#endif
