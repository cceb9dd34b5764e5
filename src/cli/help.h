/* Help: the texts of --help and --version, and word lists for shell completion. All texts come from
 * the table of commands and the rows of options. */
#ifndef AMPED_HELP_H
#define AMPED_HELP_H

#include "cli/commands.h"

/* Print the help of a command, the help of the program, or the version. */
void amped_help_command(const amped_command *command);
void amped_help_program(void);
void amped_help_version(void);

/* For shell completion (completions/amped_mpi), so --help does not list it. Prints one word per
 * line:
 *   amped_mpi --complete commands              the commands
 *   amped_mpi --complete options COMMAND       its options, an = marks options with a value
 *   amped_mpi --complete words COMMAND OPTION  the words that the option takes
 * argv begins after --complete. The list of an unknown command or option is empty. Any other
 * question is AMPED_USAGE. */
amped_status amped_help_complete(int argc, char **argv);

#endif
