/* Run result: the result of a run, ready to be written. Rank 0 has the model, in the file's order,
 * and the record of the run. */
#ifndef AMPED_RUN_RESULT_H
#define AMPED_RUN_RESULT_H

#include "formats/result_file.h"
#include "session/fixed_model.h"
#include "session/session.h"
#include "solver/cpd/cpd_options.h"

typedef struct amped_run_result {
  amped_ktensor model; /* on rank 0 */
  amped_run_record record;
  char *options;                  /* text that the record points to */
  const amped_fixed_model *fixed; /* has lent factors to the model; NULL: not */
} amped_run_result;

/* Collective; the status is agreed. Brings the factors to rank 0. record: the solver's facts; the
 * session adds the input, its norm and hash, and the options. labels: one per mode, on rank 0.
 * fixed: has the factors of fixed modes.  * Weights, labels and the record's own texts are borrowed
 * until free. free accepts a zeroed or freed result, and a result whose gathering failed. */
amped_status amped_run_result_gather(const amped_session *session, const amped_cpd_options *options,
                                     const amped_fixed_model *fixed, const amped_run_record *record,
                                     const double *weights, const amped_labels *labels,
                                     amped_run_result *out);
void amped_run_result_free(amped_run_result *result);

#endif
