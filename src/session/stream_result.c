#include "session/stream_result.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "hdf5/result_file.h"
#include "tensor/format.h"

/* What determines the result beside the batches, as JSON text; NULL: out of memory. */
static char *options_text(const amped_session *session, const amped_state_head *head) {
  json_t *object = json_pack(
      "{s:i, s:I, s:I, s:f, s:f, s:f, s:f, s:b, s:s, s:s, s:s, s:i}", "rank",
      head->ncomps - (head->biased ? 1 : 0), "batches", (json_int_t)head->batches, "entries",
      (json_int_t)head->nnz, "reg", head->reg, "reg_power", head->reg_power, "reg_bias",
      head->reg_bias, "forget", head->forget, "nonnegative", head->nonnegative ? 1 : 0, "history",
      amped_history_names[head->history], "backend", session->worker.backend->name, "precision",
      amped_vtype_name(head->type), "nranks", session->comm.nranks);
  char *text = object != NULL ? json_dumps(object, JSON_COMPACT) : NULL;
  json_decref(object);
  return text;
}

/* Components and biases out of whole rows. */
static void split(const amped_state_head *head, const amped_stream_rows *rows, amped_ktensor *k,
                  amped_completion *c) {
  const uint64_t components = (uint64_t)k->ncomps;
  for (uint64_t r = 0; r < components; r++)
    k->weights[r] = 1.0;
  for (int m = 0; m < head->order; m++)
    for (uint64_t i = 0; i < head->dims[m]; i++) {
      const void *row = amped_stream_row(rows, m, i);
      amped_values_get(row, rows->type, 0, components, k->factors[m] + i * components);
      if (head->biased)
        c->bias[m][i] = amped_value_get(row, rows->type, components);
    }
  amped_ktensor_normalise(k);
}

static void set_completion(const amped_state_head *head, amped_completion *c) {
  c->mean = head->mean;
  c->scale = head->scale;
  c->reg = head->reg;
  c->split_seed = head->split_seed;
  c->holdout = head->holdout;
  c->best_sweep = head->batches;
  for (int m = 0; m < head->order; m++)
    c->context[m] = head->prior[m] != 0.0;
}

amped_status amped_stream_result_write(const amped_session *session, const amped_state_head *head,
                                       const amped_stream_rows *rows, const amped_labels *labels,
                                       uint64_t hash, const char *path) {
  char *options = options_text(session, head);
  amped_ktensor k;
  amped_completion c = {.order = 0};
  amped_status status = AMPED_OK;
  memset(&k, 0, sizeof k);
  if (options == NULL)
    return amped_error(AMPED_FAILED, NULL, "out of memory for the run's record");
  AMPED_GO(done, amped_ktensor_create(&k, head->order, head->dims,
                                      head->ncomps - (head->biased ? 1 : 0)));
  AMPED_GO(done, amped_completion_create(&c, head->order, head->dims, head->biased));
  memcpy(k.labels, labels, sizeof k.labels); /* borrowed */
  set_completion(head, &c);
  split(head, rows, &k, &c);
  const amped_run_record record = {.input = session->options->input,
                                   .input_norm = (double)NAN,
                                   .input_hash = hash,
                                   .options = options,
                                   .seed = head->seed,
                                   .stop_reason = "batches",
                                   .metric = "rmse",
                                   .completion = &c};
  status = amped_result_file_write(path, &k, &record);
done:
  memset(k.labels, 0, sizeof k.labels);
  amped_ktensor_free(&k);
  amped_completion_free(&c);
  free(options);
  return status;
}
