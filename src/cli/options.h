/* Options of the program: one struct that joins the option structs of all folders, and the groups
 * of rows that fill it.
 *
 * Each folder has its struct and its rows (base/option.h). Options of several commands, or of no
 * folder, have their field and row here. A table in options.c gives the offset of each group's
 * struct. A new option is one row in its folder's group. A new group is one line of the table, and
 * a name in `groups` of the commands that take it (commands.c). Strings are borrowed from argv. */
#ifndef AMPED_OPTIONS_H
#define AMPED_OPTIONS_H

#include "base/clip_option.h"
#include "cli/log_options.h"
#include "base/number_list.h"
#include "base/option.h"
#include "cli/command_options.h"
#include "cli/model_options.h"
#include "session/checkpoint_options.h"
#include "session/session_options.h"
#include "solver/complete/complete_options.h"
#include "solver/cpd/cpd_options.h"
#include "solver/cpd/rbs_options.h"
#include "solver/stream/stream_options.h"
#include "text/io_format.h"

/* Most files of a command: batches of a stream. */
#define AMPED_MAX_ARGS 4096

/* Most options of all groups together. */
#define AMPED_MAX_OPTIONS 160

typedef struct amped_options {
  const struct amped_command *command;
  int nargs;
  const char *args[AMPED_MAX_ARGS];
  const char
      *said[AMPED_MAX_OPTIONS]; /* the user's text of each option ("": none); NULL: not given */

  /* options of several commands */
  amped_log_options log;
  const char *json; /* file, "-" for standard output, or NULL */
  int threads;      /* 0: all cores, shared by the ranks of a node */
  uint64_t seed;
  const char *output;
  bool nowrite;
  bool overwrite;
  amped_read_options read;

  /* options of one folder, or of one command */
  amped_session_options session;
  amped_cpd_options cpd;
  amped_rbs_options rbs;
  amped_complete_options complete;
  amped_stream_options stream;
  amped_checkpoint_options checkpoint;
  amped_convert_options convert;
  amped_generate_options generate;
  amped_info_options info;
  amped_clip_option clip;
  amped_predict_options predict;
  amped_recommend_options recommend;
  amped_evaluate_options evaluate;
  amped_similar_options similar;
  int top;   /* -n: number of labels to show, per mode or per label */
  bool lift; /* top: order by lift */
  int width; /* characters per line of top; 0: not given */
  amped_axis_options axes;
  const char *heat;             /* two modes of plot's heat maps, with a comma; NULL: none */
  amped_number_list components; /* components to show, numbered as in top; count 0: not given */
  int repeat;                   /* bench: timed passes over all modes, sweeps or batches */
  bool whole;                   /* bench: a whole run */
  bool epoch;                   /* bench: sweeps of completion (--complete) */
  amped_loss loss;              /* bench: poisson: ratios of counts beside MTTKRP */
  uint64_t batch_nnz;           /* bench: entries of a batch of a stream (--stream); 0: none */
} amped_options;

/* Groups with one option, whose name they have. bench has --repeat, --whole, --complete, --loss
 * and --stream. nowrite is for cpd and complete. */
extern const amped_option_group amped_json_option_rows;
extern const amped_option_group amped_overwrite_option_rows;
extern const amped_option_group amped_threads_option_rows;
extern const amped_option_group amped_seed_option_rows;
extern const amped_option_group amped_output_option_rows;
extern const amped_option_group amped_nowrite_option_rows;
extern const amped_option_group amped_top_option_rows;
extern const amped_option_group amped_lift_option_rows;
extern const amped_option_group amped_width_option_rows;
extern const amped_option_group amped_components_option_rows;
extern const amped_option_group amped_heat_option_rows;
extern const amped_option_group amped_bench_option_rows;

/* The groups that every command takes, NULL-ended. */
extern const amped_option_group *const amped_common_groups[];

/* Append the rows of groups (NULL-ended) to `rows`, which has `count` rows. Returns the new count.
 * groups NULL: all groups of the program. */
int amped_options_rows(const amped_option_group *const *groups, const amped_option **rows,
                       int count);

/* Set every option to its row's default. Commands may have others: amped_command_default. */
void amped_options_default(amped_options *options);

/* Set the field of a row from the user's text, as amped_option_set does, and note that it was
 * given. put: the same for a default. */
bool amped_options_set(amped_options *options, const amped_option *row, const char *text);
void amped_options_put(amped_options *options, const amped_option *row, const char *text);

/* Returns the text that the user gave for an option; NULL: none. Borrowed. */
const char *amped_options_said(const amped_options *options, const amped_option *row);

#endif
