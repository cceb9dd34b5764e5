/* Run result: what a run ends with, ready to be written: on rank 0 the model in the file's order,
 * with the record of the run. */
#ifndef AMPED_RUN_RESULT_H
#define AMPED_RUN_RESULT_H

#include "hdf5/result_file.h"
#include "session/session.h"
#include "solver/cpd_options.h"

typedef struct amped_run_result {
  amped_ktensor model; /* rank 0 */
  amped_run_record record;
  char *options; /* of the record */
} amped_run_result;

/* Collective; the status is agreed. Brings the factors to rank 0. `record` is what the solver
 * knows; the session adds the input, its norm and hash, and the options. Weights, labels (one a
 * mode, of rank 0) and what the record borrows are borrowed until free. free takes a zeroed or
 * freed result, and one whose gathering failed. */
amped_status amped_run_result_gather(const amped_session *session, const amped_cpd_options *options,
                                     const amped_run_record *record, const double *weights,
                                     const amped_labels *labels, amped_run_result *out);
void amped_run_result_free(amped_run_result *result);

#endif
