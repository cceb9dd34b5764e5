/* Options of the program: the structs of all rooms in one, and the groups of rows that fill it.
 *
 * Each room has its struct and its rows (base/option.h); what belongs to several commands, or to
 * none of the rooms, has its field and its row here. One table (options.c) says where the struct of
 * every group lies. A new option is one row in its room's group; a new group is one line of the
 * table and a name in `groups` of the commands that take it (main.c). Strings are borrowed from
 * argv. */
#ifndef AMPED_OPTIONS_H
#define AMPED_OPTIONS_H

#include "base/log_options.h"
#include "base/option.h"
#include "cli/command_options.h"
#include "session/checkpoint_options.h"
#include "session/session_options.h"
#include "solver/cpd_options.h"
#include "text/io_format.h"

#define AMPED_MAX_ARGS 2

/* Options of all groups at most. */
#define AMPED_MAX_OPTIONS 96

typedef struct amped_options {
  const struct amped_command *command;
  int nargs;
  const char *args[AMPED_MAX_ARGS];

  /* of several commands */
  amped_log_options log;
  const char *json; /* file, "-" for standard output, or NULL */
  int threads;      /* 0: all cores, shared by the ranks of a node */
  uint64_t seed;
  const char *output;
  bool nowrite;
  amped_read_options read;

  /* of one room, or one command */
  amped_session_options session;
  amped_cpd_options cpd;
  amped_checkpoint_options checkpoint;
  amped_convert_options convert;
  amped_generate_options generate;
  amped_info_options info;
  int top;    /* -n: labels of every mode */
  int repeat; /* bench: timed passes over all modes */
} amped_options;

/* One option each, of the same name; nowrite's is of cpd alone. */
extern const amped_option_group amped_json_option_rows;
extern const amped_option_group amped_threads_option_rows;
extern const amped_option_group amped_seed_option_rows;
extern const amped_option_group amped_output_option_rows;
extern const amped_option_group amped_nowrite_option_rows;
extern const amped_option_group amped_top_option_rows;
extern const amped_option_group amped_repeat_option_rows;

/* The groups that every command takes, NULL-ended. */
extern const amped_option_group *const amped_common_groups[];

/* The rows of groups (NULL-ended), one group after the other, into `rows` from place `count`; the
 * new count is returned. groups NULL: all groups of the program. */
int amped_options_rows(const amped_option_group *const *groups, const amped_option **rows,
                       int count);

/* Everything as where the user says nothing. */
void amped_options_default(amped_options *options);

/* What a user says to a row of one of the groups, as amped_option_set. */
bool amped_options_set(amped_options *options, const amped_option *row, const char *text);

#endif
