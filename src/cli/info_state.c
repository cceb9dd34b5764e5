/* Reports the model, the batches and the files of a state. */
#include "cli/info_state.h"

#include <math.h>

#include "base/facts.h"
#include "base/printable.h"
#include "base/timer.h"
#include "cli/info_text.h"
#include "state/state_file.h"
#include "tensor/format.h"

/* Root mean square error of a set of entries; NaN: the set is empty. */
static double rmse(const amped_state_errors *e) {
  return e->count > 0 ? sqrt(e->squares / (double)e->count) : NAN;
}

static double clipped_rmse(const amped_state_errors *e) {
  return e->count > 0 ? sqrt(e->clipped / (double)e->count) : NAN;
}

/* --- facts ------------------------------------------------------------------------------------ */

static void dims_facts(const amped_state_head *h, amped_facts *f) {
  char now[AMPED_DIMS_TEXT];
  char first[AMPED_DIMS_TEXT];
  amped_fact(f, "dims", amped_json_counts(h->dims, h->order), "dimensions   %s",
             amped_format_dims(now, h->order, h->dims));
  amped_fact(f, "first_dims", amped_json_counts(h->first, h->order), " (%s in the first fit)\n",
             amped_format_dims(first, h->order, h->first));
}

static void model_facts(const amped_state_head *h, amped_facts *f) {
  const int components = h->ncomps - (h->biased ? 1 : 0);
  const char *history = amped_history_names[h->history];
  const char *duplicates = amped_duplicates_policy_name(h->duplicates);
  amped_fact(f, "ncomps", json_integer(components), "components   %d", components);
  amped_fact(f, "biased", json_boolean(h->biased), "%s", h->biased ? " with biases" : "");
  amped_fact(f, "nonnegative", json_boolean(h->nonnegative), "%s",
             h->nonnegative ? ", nonnegative" : "");
  amped_fact(f, "value_type", json_string(amped_vtype_name(h->type)), ", %s\n",
             amped_vtype_name(h->type));
  amped_fact(f, "mean", amped_json_number(h->mean), "model        mean %.9g", h->mean);
  amped_fact(f, "scale", amped_json_number(h->scale), ", scale %.9g\n", h->scale);
  amped_fact(f, "reg", amped_json_number(h->reg), "lambda       %.9g", h->reg);
  amped_fact(f, "reg_power", amped_json_number(h->reg_power), " x n^%g", h->reg_power);
  amped_fact(f, "reg_bias", amped_json_number(h->reg_bias), ", of biases %.9g\n", h->reg_bias);
  amped_fact(f, "history", json_string(history), "history      %s", history);
  amped_fact(f, "history_length", amped_json_count(h->history_length),
             ", %" PRIu64 " number%s a row", h->history_length, h->history_length == 1 ? "" : "s");
  amped_fact(f, "forget", amped_json_number(h->forget), "; forget %g\n", h->forget);
  amped_fact(f, "duplicates", json_string(duplicates), "duplicates   %s\n", duplicates);
}

static void batches_facts(amped_state_file *file, amped_facts *f) {
  const amped_state_head *h = amped_state_file_head(file);
  const amped_state_batch first = amped_state_file_batch(file, 1);
  const amped_state_batch last = amped_state_file_batch(file, h->batches);
  char name[256];
  amped_fact(f, "batches", amped_json_count(h->batches), "batches      %" PRIu64, h->batches);
  amped_fact(f, "nnz", amped_json_count(h->nnz), ", %" PRIu64 " entries", h->nnz);
  amped_fact_json(f, "input", amped_json_string(first.name));
  amped_fact(f, "last_batch", amped_json_string(last.name), "; the last one is %s\n",
             amped_printable_text(name, sizeof name, last.name));
}

static void errors_facts(const amped_state_head *h, amped_facts *f) {
  static const char *const keys[AMPED_STATE_ERRORS] = {"before", "after", "validate"};
  static const char *const sets[AMPED_STATE_ERRORS] = {"before", "after", "held out"};
  for (int i = 0; i < AMPED_STATE_ERRORS; i++) {
    const amped_state_errors *e = &h->errors[i];
    amped_facts part;
    amped_facts_begin(&part, NULL);
    amped_fact_json(&part, "count", amped_json_count(e->count));
    amped_fact_json(&part, "rmse", amped_json_number(rmse(e)));
    amped_fact_json(&part, "clipped_rmse", amped_json_number(clipped_rmse(e)));
    amped_facts_take(f, keys[i], &part);
    if (e->count > 0)
      amped_fact_words(f, "rmse         %.6g %s, of %" PRIu64 " entries", rmse(e), sets[i],
                       e->count);
    if (e->count > 0 && (isfinite(h->least) || isfinite(h->most)) && !isnan(e->clipped))
      amped_fact_words(f, "; %.6g clipped to %g ... %g", clipped_rmse(e), h->least, h->most);
    if (e->count > 0)
      amped_fact_words(f, "\n");
  }
}

static void files_facts(amped_state_file *file, amped_facts *f) {
  char text[32];
  uint64_t state = 0;
  uint64_t journal = 0;
  amped_state_file_sizes(file, &state, &journal);
  amped_fact(f, "bytes", amped_json_count(state), "files        %s",
             amped_format_bytes(text, state));
  amped_fact(f, "journal_bytes", amped_json_count(journal), ", journal %s\n",
             amped_format_bytes(text, journal));
}

/* --- all -------------------------------------------------------------------------------------- */

static amped_status labels_facts(amped_state_file *file, amped_facts *f) {
  for (int m = 0; m < amped_state_file_head(file)->order; m++) {
    amped_labels labels;
    AMPED_TRY(amped_state_file_labels(file, m, &labels));
    amped_info_labels(f, m, &labels, labels.count);
    amped_labels_free(&labels);
  }
  return AMPED_OK;
}

static amped_status held_facts(amped_state_file *file, amped_facts *f) {
  const amped_state_head *h = amped_state_file_head(file);
  amped_sptensor held;
  AMPED_TRY(amped_state_file_entries(file, AMPED_STATE_HELD_OUT, &held));
  const uint64_t count = held.nnz;
  amped_sptensor_free(&held);
  amped_fact_json(f, "held", amped_json_count(count));
  if (count > 0)
    amped_fact_words(
        f, "held out     %" PRIu64 " entries kept, %.6g %% of all are held out, seed %" PRIu64 "\n",
        count, 100.0 * h->holdout, h->split_seed);
  return AMPED_OK;
}

static amped_status verify(amped_state_file *file, amped_facts *f) {
  const double began = amped_time();
  bool sealed = false;
  AMPED_TRY(amped_state_file_verify(file, &sealed));
  const double sec = amped_time() - began;
  amped_fact(f, "verify_sec", amped_json_number(sec), "verified     in %.2f s\n", sec);
  amped_info_sealed(f, sealed, "some datasets have");
  return AMPED_OK;
}

static amped_status tell(const amped_options *o, amped_state_file *file, amped_facts *f) {
  const amped_state_head *h = amped_state_file_head(file);
  amped_fact(f, "kind", json_string("state"), "state        ");
  amped_fact(f, "file", amped_json_string(o->args[0]), "%s\n", o->args[0]);
  dims_facts(h, f);
  model_facts(h, f);
  batches_facts(file, f);
  AMPED_TRY(held_facts(file, f));
  errors_facts(h, f);
  files_facts(file, f);
  AMPED_TRY(labels_facts(file, f));
  return o->info.verify ? verify(file, f) : AMPED_OK;
}

amped_status amped_info_state(const amped_options *o, amped_json *json) {
  amped_state_file *file = NULL;
  AMPED_TRY(amped_state_file_open(o->args[0], false, &file));
  amped_facts facts;
  amped_facts_begin(&facts, NULL);
  amped_status status = tell(o, file, &facts);
  amped_state_file_close(file);
  return amped_facts_end(&facts, json, status);
}
