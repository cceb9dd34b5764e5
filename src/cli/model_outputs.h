/* Model outputs: what recommend, similar and evaluate open before they read the model, and close at
 * the end: the JSON, and the lock of a table. */
#ifndef AMPED_MODEL_OUTPUTS_H
#define AMPED_MODEL_OUTPUTS_H

#include "base/file_lock.h"
#include "base/json.h"
#include "cli/options.h"

typedef struct amped_model_outputs {
  amped_json *json; /* NULL: no --json */
  amped_file_lock lock;
} amped_model_outputs;

/* Check the table that -o names (none, a file, or standard output), RESULT and the files of cells,
 * and open the JSON. tabled: such as "recommendations are", for messages; NULL: the command writes
 * no table. After a failure nothing is open. */
amped_status amped_model_outputs_open(const amped_options *o, const char *tabled,
                                      amped_model_outputs *out);

/* Close everything. status: the command's. Returns it, or the failure to close. */
amped_status amped_model_outputs_close(amped_model_outputs *outputs, amped_status status);

#endif
