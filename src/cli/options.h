/* Options of the command line: one table, from which parsing, checks and --help come.
 *
 * Every command lists the options that it takes; any other is AMPED_USAGE, as is a value out of
 * range, before a file is opened. Strings are borrowed from argv. */
#ifndef AMPED_OPTIONS_H
#define AMPED_OPTIONS_H

#include "session/checkpoint.h"
#include "base/log.h"
#include "session/session_options.h"
#include "solver/cpd_options.h"
#include "text/io_format.h"

#define AMPED_MAX_ARGS 2

/* Bytes that --memory asks for at least. */
#define AMPED_LEAST_MEMORY (UINT64_C(1) << 20)

typedef struct amped_convert_options {
  amped_duplicates duplicates;
  bool drop_zeros;
  bool no_copies;
  uint64_t memory;       /* 0: a share of what is free */
  const char *temporary; /* folder, or NULL: beside the output */
} amped_convert_options;

typedef struct amped_generate_options {
  int planted;  /* components of the model that values come from, 0: none */
  double noise; /* standard deviation over that of the model's values */
} amped_generate_options;

typedef struct amped_info_options {
  bool verify;
  bool system; /* of the system, not of a file; on all ranks */
} amped_info_options;

typedef struct amped_options {
  const struct amped_command *command;
  int nargs;
  const char *args[AMPED_MAX_ARGS];

  /* of several commands */
  amped_verbosity verbosity;
  amped_progress_when progress;
  const char *json; /* file, "-" for standard output, or NULL */
  int threads;      /* 0: all cores, shared by the ranks of a node */
  uint64_t seed;
  const char *output;
  bool nowrite;
  amped_read_options read; /* --index-base, --dims, --keys, --value */

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

/* A command of the program. `options` is a string of space-separated long option names. */
typedef struct amped_command {
  const char *name;
  const char *arguments; /* for the usage line */
  int min_args, max_args;
  bool parallel; /* runs on MPI ranks */
  const char *summary;
  const char *options;
  const char *help; /* paragraphs that follow the options in --help */
  amped_status (*run)(const amped_options *options);
} amped_command;

/* All commands, ended by one without name; defined in main.c. */
extern const amped_command amped_commands[];

/* Parse. *done is true where --help or --version was answered and nothing is left to do. */
amped_status amped_options_parse(int argc, char **argv, amped_options *out, bool *done);

/* "10G", "512M", "1.5GiB", "4096": bytes. "100M" as a count has powers of 1000. false if
 * malformed.*/
bool amped_parse_bytes(const char *text, uint64_t *out);
bool amped_parse_count(const char *text, uint64_t *out);

#endif
