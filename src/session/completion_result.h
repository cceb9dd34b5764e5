/* Completion result: what a completion ends with, ready to be written: on rank 0 the model in the
 * file's order, with the record of the run. */
#ifndef AMPED_COMPLETION_RESULT_H
#define AMPED_COMPLETION_RESULT_H

#include "hdf5/result_file.h"
#include "session/session.h"
#include "solver/complete_search.h"

/* All but the members' own arrays is borrowed. Do not move it: the record points into it. */
typedef struct amped_completion_result {
  amped_ktensor model; /* rank 0; columns of unit length */
  amped_completion completion;
  amped_run_record record;
  char *options; /* of the record */
} amped_completion_result;

/* Collective; the status is agreed. Brings the context's factors to rank 0, which are those of the
 * best sweep. labels: one a mode, of rank 0, borrowed until free. free takes a zeroed result, and
 * one whose gathering failed. */
amped_status amped_completion_result_gather(const amped_session *session,
                                            const amped_complete_problem *problem,
                                            const amped_complete_best *best,
                                            const amped_labels *labels,
                                            amped_completion_result *out);
void amped_completion_result_free(amped_completion_result *result);

#endif
