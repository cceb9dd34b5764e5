/* Commands: each command takes parsed options, calls the folders below and reports. Each has one
 * file, cmd_NAME.c, and one row in the table of commands.c. */
#ifndef AMPED_COMMANDS_H
#define AMPED_COMMANDS_H

#include "base/status.h"
#include "cli/options.h"

/* Maximum number of option groups of a command, including the end of the list. */
#define AMPED_MAX_GROUPS 32

/* Text for an option in the --help of one command, if other commands share the option. */
typedef struct amped_option_text {
  const char *name;      /* option, without dashes; NULL: the end of the list */
  const char *help;      /* instead of the row's; NULL: the row's */
  const char *initially; /* instead of the row's; NULL: the default itself */
  const char *initial;   /* the command's default; NULL: the row's */
} amped_option_text;

typedef struct amped_command {
  const char *name;
  const char *arguments; /* text of the arguments in the usage line */
  int min_args, max_args;
  bool parallel; /* runs on MPI ranks */
  bool writes;   /* the last argument is the file that it writes */
  bool answers; /* its lines are what the user asked for: -q keeps them, unless they go to a file */
  const char *summary;
  const amped_option_group *groups[AMPED_MAX_GROUPS]; /* without the common groups; NULL-ended */
  const amped_option_text *texts;                     /* NULL: the texts of the rows */
  const char *help;    /* paragraphs after the options in --help; wrapped when printed */
  const char *example; /* one command line, the end of --help */
  amped_status (*run)(const amped_options *options);
} amped_command;

/* All commands. The last row has no name. Defined in commands.c. */
extern const amped_command amped_commands[];

/* Returns the command of this name, or NULL. */
const amped_command *amped_command_find(const char *name);

/* Fill `rows` with the option rows of a command, then the common rows. Returns their number. */
int amped_command_rows(const amped_command *command, const amped_option *rows[AMPED_MAX_OPTIONS]);

/* Set every option to its default for this command, and choose the command. */
void amped_command_default(const amped_command *command, amped_options *options);

/* Returns the default of a command's option, in the user's notation; NULL: none is written. */
const char *amped_command_initial(const amped_command *command, const amped_option *row);

amped_status amped_cmd_cpd(const amped_options *o);
amped_status amped_cmd_complete(const amped_options *o);
amped_status amped_cmd_stream(const amped_options *o);
amped_status amped_cmd_bench(const amped_options *o);
amped_status amped_cmd_convert(const amped_options *o);
amped_status amped_cmd_info(const amped_options *o);
/* bench --whole, bench --complete, bench --stream */
amped_status amped_cmd_whole(const amped_options *o);
amped_status amped_cmd_epoch(const amped_options *o);
amped_status amped_cmd_counts(const amped_options *o);
amped_status amped_cmd_batches(const amped_options *o);
/* info --system, on all ranks */
amped_status amped_cmd_system(const amped_options *o);
amped_status amped_cmd_compare(const amped_options *o);
amped_status amped_cmd_plot(const amped_options *o);
amped_status amped_cmd_top(const amped_options *o);
amped_status amped_cmd_predict(const amped_options *o);
amped_status amped_cmd_recommend(const amped_options *o);
amped_status amped_cmd_evaluate(const amped_options *o);
amped_status amped_cmd_similar(const amped_options *o);
amped_status amped_cmd_generate(const amped_options *o);

#endif
