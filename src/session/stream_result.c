/* Writes the current model of a stream as a completion model. */
#include "session/stream_result.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/facts.h"
#include "base/mem.h"
#include "formats/result_file.h"
#include "tensor/format.h"

/* The options that, with the batches, determine the result, as JSON text that the caller frees.
 * NULL: out of memory. */
static char *options_text(const amped_session *session, const amped_state_head *head) {
  amped_facts f;
  amped_facts_begin(&f, NULL);
  amped_fact_json(&f, "rank", json_integer(head->ncomps - (head->biased ? 1 : 0)));
  amped_fact_json(&f, "batches", amped_json_count(head->batches));
  amped_fact_json(&f, "entries", amped_json_count(head->nnz));
  amped_fact_json(&f, "reg", amped_json_number(head->reg));
  amped_fact_json(&f, "reg_power", amped_json_number(head->reg_power));
  amped_fact_json(&f, "reg_bias", amped_json_number(head->reg_bias));
  amped_fact_json(&f, "forget", amped_json_number(head->forget));
  amped_fact_json(&f, "nonnegative", amped_json_string(head->nonnegative ? "all" : NULL));
  amped_fact_json(&f, "history", json_string(amped_history_names[head->history]));
  amped_fact_json(&f, "backend", json_string(session->worker.backend->name));
  amped_fact_json(&f, "precision", json_string(amped_vtype_name(head->type)));
  amped_fact_json(&f, "nranks", json_integer(session->comm.nranks));
  return amped_facts_text(&f);
}

/* Rows that are read together. */
#define PIECE UINT64_C(4096)

/* Split whole rows of a mode into components and biases. */
static amped_status split_mode(const amped_state_head *head, const amped_stream_rows *rows, int m,
                               void *piece, const uint64_t *learnt, amped_ktensor *k,
                               amped_completion *c) {
  const uint64_t components = (uint64_t)k->ncomps;
  for (uint64_t first = 0; first < head->dims[m]; first += PIECE) {
    const uint64_t left = head->dims[m] - first;
    const uint64_t count = left < PIECE ? left : PIECE;
    AMPED_TRY(rows->ops->get_factors(rows->store, m, first, count, piece));
    for (uint64_t i = 0; i < count; i++) {
      amped_values_get(piece, rows->type, i * rows->ncomps, components,
                       k->factors[m] + (first + i) * components);
      if (head->biased)
        c->bias[m][first + i] = amped_value_get(piece, rows->type, i * rows->ncomps + components);
      c->observed[m][first + i] = (learnt[(first + i) / 64] >> (first + i) % 64 & 1) != 0;
    }
  }
  return AMPED_OK;
}

static amped_status split(const amped_state_head *head, const amped_stream_rows *rows,
                          uint64_t *const *learnt, amped_ktensor *k, amped_completion *c) {
  void *piece = NULL;
  amped_status status = amped_alloc(&piece, PIECE * rows->ncomps, rows->type, "rows of a stream");
  for (int r = 0; r < k->ncomps; r++)
    k->weights[r] = 1.0;
  for (int m = 0; m < head->order && status == AMPED_OK; m++)
    status = split_mode(head, rows, m, piece, learnt[m], k, c);
  amped_free(piece);
  return status == AMPED_OK ? amped_completion_normalise(c, 0, k) : status;
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

static amped_status write_model(const amped_session *session, const amped_state_head *head,
                                const amped_stream_rows *rows, uint64_t *const *learnt,
                                const amped_labels *labels, uint64_t hash, const char *path) {
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
  AMPED_GO(done, amped_completion_begin_observed(&c));
  AMPED_GO(done, split(head, rows, learnt, &k, &c));
  const amped_run_record record = {.input = session->options->input,
                                   .input_norm = sqrt(head->squares),
                                   .input_hash = hash,
                                   .options = options,
                                   .seed = head->seed,
                                   .stop_reason = "batches",
                                   .metric = "rmse",
                                   .nonnegative = head->nonnegative ? UINT64_MAX : 0,
                                   .completion = &c};
  status = amped_result_file_write(path, &k, &record);
done:
  memset(k.labels, 0, sizeof k.labels);
  amped_ktensor_free(&k);
  amped_completion_free(&c);
  free(options);
  return status;
}

amped_status amped_stream_result_write(const amped_session *session, const amped_state_head *head,
                                       const amped_stream_rows *rows, const amped_labels *labels,
                                       uint64_t hash, const char *path) {
  uint64_t *learnt[AMPED_MAX_ORDER] = {NULL};
  amped_status status = AMPED_OK;
  for (int m = 0; m < head->order && status == AMPED_OK; m++)
    status = amped_calloc(&learnt[m], head->dims[m] / 64 + 1, sizeof *learnt[m], "a stream's rows");
  status = amped_comm_agree(&session->comm, status);
  for (int m = 0; m < head->order && status == AMPED_OK; m++)
    status = amped_stream_rows_learnt(&session->comm, rows, head, m, head->dims[m], learnt[m]);
  if (status == AMPED_OK && session->comm.rank == 0)
    status = write_model(session, head, rows, learnt, labels, hash, path);
  for (int m = 0; m < head->order; m++)
    amped_free(learnt[m]);
  return amped_comm_agree(&session->comm, status);
}
