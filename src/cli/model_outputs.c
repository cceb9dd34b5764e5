/* Model outputs: checks in the order in which a user would mend them, then the files. */
#include "cli/model_outputs.h"

#include "cli/cell_files.h"
#include "cli/commands.h"
#include "cli/ranking_report.h"
#include "cli/result_argument.h"
#include "session/output_guard.h"

amped_status amped_model_outputs_open(const amped_options *o, const char *tabled,
                                      amped_model_outputs *out) {
  amped_status status = AMPED_OK;
  *out = (amped_model_outputs){.lock = {NULL, -1}};
  if (tabled != NULL)
    AMPED_GO(fail, amped_ranking_report_check(o, tabled, &out->lock));
  AMPED_GO(fail, amped_result_argument_is(o->command->name, o->args[0]));
  AMPED_GO(fail, amped_cell_files_probe(o));
  AMPED_GO(fail, amped_output_json(o->json, o->overwrite, &out->json));
  if (o->output == NULL)
    return AMPED_OK;
  status = amped_json_apart(out->json, o->output);
  if (status == AMPED_OK)
    return AMPED_OK;
fail:
  return amped_model_outputs_close(out, status);
}

amped_status amped_model_outputs_close(amped_model_outputs *outputs, amped_status status) {
  status = amped_json_close(outputs->json, status);
  amped_file_lock_release(&outputs->lock);
  *outputs = (amped_model_outputs){.lock = {NULL, -1}};
  return status;
}
