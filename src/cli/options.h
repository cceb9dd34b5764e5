/* Options of the command line: one table, from which parsing, checks and --help come.
 *
 * Every command lists the options that it takes; any other is AMPED_USAGE, as is a value out of
 * range, before a file is opened. Strings are borrowed from argv. */
#ifndef AMPED_OPTIONS_H
#define AMPED_OPTIONS_H

#include "backend/backend.h"
#include "text/io.h"
#include "base/log.h"

#define AMPED_MAX_ARGS 2

/* Numbers of components that one run tries, random starts of each. */
#define AMPED_MAX_NCOMPS_COUNT 64
#define AMPED_MAX_STARTS 1000

/* Bytes that --memory asks for at least. */
#define AMPED_LEAST_MEMORY (UINT64_C(1) << 20)

typedef enum amped_value_kind {
  AMPED_VALUES_AS_SHAPE, /* not said */
  AMPED_VALUES_REAL,
  AMPED_VALUES_COUNTS
} amped_value_kind;

typedef struct amped_options {
  /* what to do, and to which files */
  const struct amped_command *command;
  int nargs;
  const char *args[AMPED_MAX_ARGS];

  /* all commands */
  amped_verbosity verbosity;
  amped_progress_when progress;
  const char *json; /* file, "-" for standard output, or NULL */
  int threads;      /* 0: all cores, shared by the ranks of a node */

  /* cpd, bench */
  int ncomps;                              /* the largest of them */
  int ncomps_list[AMPED_MAX_NCOMPS_COUNT]; /* cpd: as they were given, each once */
  int ncomps_count;
  int starts;
  bool corcondia;
  uint64_t iters;
  double tol;
  uint64_t seed; /* also generate */
  const char *output;
  bool nowrite;
  const char *init;    /* NULL: random */
  const char *backend; /* "auto", "cpu", "cuda" */
  amped_vtype precision;
  amped_residency residency;
  uint64_t device_memory;
  uint64_t tile_bytes; /* 0: automatic, UINT64_MAX: off */
  bool share_gpus;
  bool deterministic;
  bool read_parallel;
  amped_placement placement;
  int parts;                  /* as amped_plan_cut takes them */
  const char *checkpoint;     /* cpd: file, or NULL */
  uint64_t checkpoint_sweeps; /* from one checkpoint to the next; 0: not said */
  double checkpoint_sec;      /* likewise, in seconds */
  bool resume;
  bool plan_only;
  const char *trace;   /* file, or NULL */
  double hang_timeout; /* seconds, 0: never */
  amped_kernel kernel;
  int repeat; /* bench: timed passes over all modes */

  /* convert */
  amped_read_options read; /* --index-base, --dims (also generate), --keys, --value */
  amped_duplicates duplicates;
  bool drop_zeros;
  uint64_t memory;       /* 0: a share of what is free */
  const char *temporary; /* folder, or NULL: beside the output */
  bool no_copies;

  /* info */
  bool verify;
  bool system; /* of the system, not of a file; on all ranks */

  /* top */
  int top; /* -n: labels of every mode */

  amped_value_kind values; /* bench of a shape */

  /* generate, bench */
  uint64_t nnz; /* 0: not given */
  int skew_count;
  double skew[AMPED_MAX_ORDER]; /* Zipf exponents; one value counts for all modes */
  int planted;                  /* components of the model that values come from, 0: none */
  double noise;                 /* standard deviation over that of the model's values */
  const char *shape;            /* a name of cmd_generate's table, or NULL */
  double scale;                 /* nonzeros and dimensions of the shape, times this */
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

/* The revision this program was built from, "" where unknown. */
const char *amped_revision(void);

/* "10G", "512M", "1.5GiB", "4096": bytes. "100M" as a count has powers of 1000. false if
 * malformed.*/
bool amped_parse_bytes(const char *text, uint64_t *out);
bool amped_parse_count(const char *text, uint64_t *out);

#endif
