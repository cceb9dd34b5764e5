/* Models of cpd: the decompositions of a run, one for each number of components and start. They run
 * side by side in the session's groups, which follow each other in the user's order
 * (docs/decisions/076-models-side-by-side.md). */
#ifndef AMPED_CPD_MODELS_H
#define AMPED_CPD_MODELS_H

#include "base/file_lock.h"
#include "cli/cpd_outputs.h"
#include "cli/options.h"
#include "session/checkpoint.h"
#include "session/fixed_model.h"
#include "session/lines.h"
#include "session/session.h"
#include "session/summary.h"
#include "solver/cpd/rbs_settings.h"
#include "solver/cpd/row_rule.h"
#include "solver/cpd/multistart.h"

/* A run of cpd. The command fills the first block, and frees it. */
typedef struct amped_cpd_job {
  amped_session *session;
  amped_options *own; /* the same options; modes of row rules are filled in later */
  const amped_options *o;
  amped_cpd_outputs outputs;
  amped_labels *labels;    /* [AMPED_MAX_ORDER], on rank 0 */
  bool *has_labels;        /* labels are read */
  amped_fixed_model fixed; /* factors of --fix */
  amped_ktensor start;     /* rank 0: start of --fix, until the first sweep */
  const char *rows_key;    /* key of the row rule, for checkpoints */
  char rows_text[AMPED_ROW_RULE_TEXT];
  amped_rbs_settings rbs; /* settings of --method=rbs for the current R */

  amped_summary_row rows[AMPED_MAX_NCOMPS_COUNT];
  int finished; /* rows that are filled */

  /* State of the models alone. */
  amped_status unsaved; /* agreed: the first failure of a checkpoint whose run went on to its end */
  bool noise_reported;
  bool values_reported;
  amped_checkpoint *writer; /* several models: the one whose checkpoint is being written */
  amped_file_lock lock;     /* several models: of --checkpoint's FILE, on rank 0 */
  amped_lines *lines;       /* lines of the models, in their order */
  amped_multistart *starts; /* [ncomps_count] */
} amped_cpd_job;

/* Does the run make several decompositions: of several numbers of components, or starts? */
bool amped_cpd_is_several(const amped_options *options);

/* Collective; the status is agreed. Make all decompositions, write their results, and fill `rows`.
 * AMPED_STOPPED: a signal ended the run; the finished models are written, and `rows` has them. */
amped_status amped_cpd_models_run(amped_cpd_job *job);

#endif
