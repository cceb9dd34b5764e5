/* Reports the model, the batches and the files of a state. */
#include "cli/info_state.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/printable.h"
#include "base/timer.h"
#include "state/state_file.h"
#include "tensor/format.h"

/* Root mean square error of a set of entries; NaN: the set is empty. */
static double rmse(const amped_state_errors *e) {
  return e->count > 0 ? sqrt(e->squares / (double)e->count) : NAN;
}

static double clipped_rmse(const amped_state_errors *e) {
  return e->count > 0 ? sqrt(e->clipped / (double)e->count) : NAN;
}

/* --- lines ------------------------------------------------------------------------------------ */

static void say_dims(const amped_state_head *h) {
  char now[AMPED_DIMS_TEXT];
  char first[AMPED_DIMS_TEXT];
  amped_say("dimensions   %s (%s in the first fit)", amped_format_dims(now, h->order, h->dims),
            amped_format_dims(first, h->order, h->first));
}

static void say_model(const amped_state_head *h) {
  const int components = h->ncomps - (h->biased ? 1 : 0);
  amped_say("components   %d%s%s, %s", components, h->biased ? " with biases" : "",
            h->nonnegative ? ", nonnegative" : "", amped_vtype_name(h->type));
  amped_say("model        mean %.9g, scale %.9g", h->mean, h->scale);
  amped_say("lambda       %.9g x n^%g, of biases %.9g", h->reg, h->reg_power, h->reg_bias);
  amped_say("history      %s, %" PRIu64 " number%s a row; forget %g",
            amped_history_names[h->history], h->history_length, h->history_length == 1 ? "" : "s",
            h->forget);
  amped_say("duplicates   %s", amped_duplicates_policy_name(h->duplicates));
  if (isfinite(h->least) || isfinite(h->most))
    amped_say("clipped      to %g ... %g", h->least, h->most);
}

static void say_batches(amped_state_file *file) {
  const amped_state_head *h = amped_state_file_head(file);
  char name[256];
  amped_say("batches      %" PRIu64 ", %" PRIu64 " entries; the last one is %s", h->batches, h->nnz,
            amped_printable_text(name, sizeof name, amped_state_file_batch(file, h->batches).name));
}

static void say_errors(const amped_state_head *h) {
  static const char *const sets[AMPED_STATE_ERRORS] = {"before", "after", "held out"};
  for (int e = 0; e < AMPED_STATE_ERRORS; e++)
    if (h->errors[e].count > 0)
      amped_say("rmse         %.6g %s, of %" PRIu64 " entries", rmse(&h->errors[e]), sets[e],
                h->errors[e].count);
}

static void say_files(amped_state_file *file) {
  char a[32];
  char b[32];
  uint64_t state = 0;
  uint64_t journal = 0;
  amped_state_file_sizes(file, &state, &journal);
  amped_say("files        %s, journal %s", amped_format_bytes(a, state),
            amped_format_bytes(b, journal));
}

static void say_labels(int mode, const amped_labels *labels) {
  char name[128];
  char first[64];
  char last[64];
  if (labels->count > 0)
    amped_say("labels %d     %s%s%s ... %s", mode + 1, amped_format_name(name, sizeof name, labels),
              labels->name != NULL ? ": " : "", amped_label_text(labels, 0, first, sizeof first),
              amped_label_text(labels, labels->count - 1, last, sizeof last));
}

/* --- JSON ------------------------------------------------------------------------------------- */

static json_t *json_errors(const amped_state_errors *e) {
  return json_pack("{s:o, s:o, s:o}", "count", amped_json_count(e->count), "rmse",
                   amped_json_number(rmse(e)), "clipped_rmse", amped_json_number(clipped_rmse(e)));
}

static json_t *json_state(const char *path, amped_state_file *file, json_t *names, json_t *counts,
                          uint64_t held) {
  const amped_state_head *h = amped_state_file_head(file);
  const amped_state_batch first = amped_state_file_batch(file, 1);
  const amped_state_batch last = amped_state_file_batch(file, h->batches);
  uint64_t state = 0;
  uint64_t journal = 0;
  amped_state_file_sizes(file, &state, &journal);
  return json_pack(
      "{s:s, s:o, s:o, s:o, s:i, s:b, s:b, s:s, s:s, s:o, s:f, s:f, s:f, s:f, s:f, s:f, s:o, s:o, "
      "s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:s, s:O, s:O}",
      "kind", "state", "file", amped_json_text(path, strlen(path)), "dims",
      amped_json_counts(h->dims, h->order), "first_dims", amped_json_counts(h->first, h->order),
      "ncomps", h->ncomps - (h->biased ? 1 : 0), "biased", h->biased ? 1 : 0, "nonnegative",
      h->nonnegative ? 1 : 0, "value_type", amped_vtype_name(h->type), "history",
      amped_history_names[h->history], "history_length", amped_json_count(h->history_length),
      "mean", h->mean, "scale", h->scale, "reg", h->reg, "reg_power", h->reg_power, "reg_bias",
      h->reg_bias, "forget", h->forget, "batches", amped_json_count(h->batches), "nnz",
      amped_json_count(h->nnz), "input", amped_json_text(first.name, strlen(first.name)),
      "last_batch", amped_json_text(last.name, strlen(last.name)), "held", amped_json_count(held),
      "before", json_errors(&h->errors[AMPED_STATE_BEFORE]), "after",
      json_errors(&h->errors[AMPED_STATE_AFTER]), "validate",
      json_errors(&h->errors[AMPED_STATE_HELD]), "bytes", amped_json_count(state), "journal_bytes",
      amped_json_count(journal), "duplicates", amped_duplicates_policy_name(h->duplicates),
      "mode_names", names, "labels", counts);
}

/* --- all -------------------------------------------------------------------------------------- */

static amped_status tell_labels(amped_state_file *file, json_t *names, json_t *counts) {
  for (int m = 0; m < amped_state_file_head(file)->order; m++) {
    amped_labels labels;
    AMPED_TRY(amped_state_file_labels(file, m, &labels));
    say_labels(m, &labels);
    const bool done = json_array_append_new(names, amped_json_mode_name(&labels)) == 0 &&
                      json_array_append_new(counts, amped_json_count(labels.count)) == 0;
    amped_labels_free(&labels);
    if (!done)
      return amped_error(AMPED_FAILED, NULL, "out of memory for a JSON line");
  }
  return AMPED_OK;
}

static amped_status count_held(amped_state_file *file, uint64_t *count) {
  const amped_state_head *h = amped_state_file_head(file);
  amped_sptensor held;
  AMPED_TRY(amped_state_file_held(file, &held));
  *count = held.nnz;
  amped_sptensor_free(&held);
  if (*count > 0)
    amped_say("held out     %" PRIu64 " entries kept, %.6g %% of all are held out, seed %" PRIu64,
              *count, 100.0 * h->holdout, h->split_seed);
  return AMPED_OK;
}

static amped_status verify(amped_state_file *file, double *sec, bool *sealed) {
  const double began = amped_time();
  AMPED_TRY(amped_state_file_verify(file, sealed));
  *sec = amped_time() - began;
  amped_say("verified     in %.2f s", *sec);
  if (!*sealed)
    amped_say("             some datasets have no content hash: only checksums protect them");
  return AMPED_OK;
}

static amped_status tell(const amped_options *o, amped_state_file *file, amped_json *json) {
  const amped_state_head *h = amped_state_file_head(file);
  json_t *names = json_array();
  json_t *counts = json_array();
  uint64_t held = 0;
  double sec = 0.0;
  bool sealed = false;
  amped_status status = AMPED_OK;
  amped_say("state        %s", o->args[0]);
  say_dims(h);
  say_model(h);
  say_batches(file);
  AMPED_GO(done, count_held(file, &held));
  say_errors(h);
  say_files(file);
  AMPED_GO(done, tell_labels(file, names, counts));
  if (o->info.verify)
    AMPED_GO(done, verify(file, &sec, &sealed));
  json_t *object = json_state(o->args[0], file, names, counts, held);
  if (object != NULL && o->info.verify &&
      (json_object_set_new(object, "verify_sec", json_real(sec)) != 0 ||
       json_object_set_new(object, "content_hash", json_boolean(sealed)) != 0)) {
    json_decref(object);
    object = NULL;
  }
  status = amped_json_line(json, object);
done:
  json_decref(names);
  json_decref(counts);
  return status;
}

amped_status amped_info_state(const amped_options *o, amped_json *json) {
  amped_state_file *file = NULL;
  AMPED_TRY(amped_state_file_open(o->args[0], false, &file));
  amped_status status = tell(o, file, json);
  amped_state_file_close(file);
  return status;
}
