/* Completion result: the best model of a completion, ready to be written. Rank 0 has the model, in
 * the file's order, and the record of the run. */
#ifndef AMPED_COMPLETION_RESULT_H
#define AMPED_COMPLETION_RESULT_H

#include "formats/result_file.h"
#include "session/fixed_model.h"
#include "session/session.h"
#include "solver/complete/complete_search.h"

/* Everything is borrowed except the members' own arrays. Do not move the struct: the record points
 * into it. */
typedef struct amped_completion_result {
  amped_ktensor model; /* on rank 0; columns have unit length */
  amped_completion completion;
  amped_run_record record;
  char *options;                  /* text that the record points to */
  const amped_fixed_model *fixed; /* has lent factors to the model; NULL: not */
} amped_completion_result;

/* Collective; the status is agreed. Brings the context's factors to rank 0; they must be the
 * factors of the best sweep. fixed: has the factors of fixed modes. labels: one per mode, on rank
 * 0, borrowed until free. free accepts a zeroed result, and a result whose gathering failed. */
amped_status amped_completion_result_gather(const amped_session *session,
                                            const amped_fixed_model *fixed,
                                            const amped_complete_problem *problem,
                                            const amped_complete_best *best,
                                            const amped_labels *labels,
                                            amped_completion_result *out);
void amped_completion_result_free(amped_completion_result *result);

#endif
