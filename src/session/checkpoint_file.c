/* Checkpoint file: writing, reading, comparing keys, and the choice of a generation. */
#include "session/checkpoint_file.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/version.h"
#include "hdf5/hdf5_fields.h"
#include "hdf5/hdf5_probe.h"
#include "session/session_options.h"
#include "solver/cpd/row_rule.h"
#include "tensor/format.h"
#include "base/draft.h"
#include "base/file.h"
#include "hdf5/hdf5_metric.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/system_memory.h"
#include "formats/result_file.h"

#define CHECKPOINT_VERSION 1

static const amped_hdf5_type f64 = {AMPED_FLOAT, AMPED_F64};

#define AT(kind, member) AMPED_FIELD_AT(kind, amped_checkpoint_key, member)

/* Attributes of a key. Its other members follow from the datasets. */
static const amped_field fields[] = {
    {.name = "init", .at = AT(TEXT, init)},
    {.name = "method", .at = AT(TEXT, method), .is_optional = true},
    {.name = "loss", .at = AT(TEXT, loss), .is_optional = true},
    {.name = "accelerate", .at = AT(TEXT, accelerate), .is_optional = true},
    {.name = "rows", .at = AT(TEXT, rows), .is_optional = true},
    {.name = "fixed", .at = AT(TEXT, fixed), .is_optional = true},
    {.name = "last_column", .at = AT(TEXT, last_column), .is_optional = true},
    {.name = "seed", .at = AT(COUNT, seed)},
    {.name = "input_dims", .at = AT(COUNT, dims), .is_list = true},
    {.name = "nnz", .at = AT(COUNT, nnz)},
    {.name = "input_hash", .at = AT(COUNT, hash)},
};
#define FIELDS (sizeof fields / sizeof fields[0])

/* --- writing --------------------------------------------------------------------------------- */

static amped_status write_grams(amped_hdf5 *file, const amped_solver_state *state) {
  const uint64_t n = (uint64_t)state->ncomps;
  const uint64_t dims[2] = {(uint64_t)state->order * n, n};
  double *all = NULL;
  AMPED_TRY(amped_alloc(&all, dims[0] * n, sizeof *all, "the gram matrices"));
  for (int m = 0; m < state->order; m++)
    memcpy(all + (uint64_t)m * n * n, state->grams[m], n * n * sizeof *all);
  amped_status status = amped_hdf5_dataset_write(file, "/grams", f64, 2, dims, all);
  amped_free(all);
  return status;
}

static amped_status write_all(amped_hdf5 *file, const amped_checkpoint_key *key,
                              const amped_ktensor *k, const amped_solver_state *state) {
  const uint64_t n = (uint64_t)state->ncomps;
  const amped_hdf5_metric metric = amped_hdf5_metric_of(key->metric);
  AMPED_TRY(amped_hdf5_put_format(file, "checkpoint", CHECKPOINT_VERSION));
  AMPED_TRY(amped_hdf5_put_text(file, "/", "version", amped_version()));
  AMPED_TRY(amped_fields_put(file, fields, FIELDS, key->order, key));
  AMPED_TRY(amped_hdf5_metric_put(file, &metric));
  AMPED_TRY(amped_hdf5_dataset_write(file, "/weights", f64, 1, &n, state->weights));
  AMPED_TRY(amped_result_put_factors(file, "/factors", k, NULL, NULL, key->precision));
  AMPED_TRY(amped_hdf5_dataset_write(file, metric.history, f64, 1, &state->sweeps, state->history));
  if (key->has_grams)
    AMPED_TRY(write_grams(file, state));
  if (key->has_numbers)
    AMPED_TRY(
        amped_hdf5_dataset_write(file, "/numbers", f64, 1, &state->number_count, state->numbers));
  if (key->keeps_second)
    AMPED_TRY(amped_result_put_factors(file, "/kept", &state->kept, NULL, NULL, key->precision));
  return amped_hdf5_finish(file);
}

amped_status amped_checkpoint_file_write(const char *path, bool keep_previous,
                                         const amped_checkpoint_key *key, const amped_ktensor *k,
                                         const amped_solver_state *state) {
  amped_hdf5 file = {.open = false};
  amped_draft draft = {.open = false};
  amped_status status = AMPED_OK;
  AMPED_TRY(amped_draft_open(path, true, &draft));
  AMPED_GO(done, amped_hdf5_create(draft.fd, path, &file));
  AMPED_GO(done, write_all(&file, key, k, state));
  AMPED_GO(done, amped_result_check_written(draft.fd, path, k->order));
  status = amped_draft_publish(&draft, !keep_previous);
done:
  amped_hdf5_close(&file);
  amped_draft_close(&draft);
  return status;
}

/* Size of a generation on disk in bytes; 0 if there is none. */
static uint64_t bytes_of(const char *path) {
  struct stat st;
  return stat(path, &st) == 0 && S_ISREG(st.st_mode) ? (uint64_t)st.st_size : 0;
}

uint64_t amped_checkpoint_file_bytes(const char *path, int order, const uint64_t *dims, int ncomps,
                                     amped_vtype precision) {
  const uint64_t grams = (uint64_t)order * (uint64_t)ncomps * (uint64_t)ncomps * sizeof(double);
  const uint64_t one = amped_result_file_bytes(order, dims, ncomps, precision, NULL) + grams;
  char *previous = NULL;
  uint64_t there = bytes_of(path);
  if (amped_file_previous(path, &previous) == AMPED_OK)
    there += bytes_of(previous);
  amped_free(previous);
  return 3 * one > there + one ? 3 * one - there : one;
}

/* --- reading --------------------------------------------------------------------------------- */

/* Read the key, whose metric is the name in *metric. It is compared before any factor is read. */
static amped_status read_key(amped_hdf5 *file, amped_checkpoint_key *key,
                             amped_hdf5_metric *metric) {
  amped_hdf5_dataset d;
  char *format = NULL;
  char name[AMPED_HDF5_NAME];
  bool exists = true;
  AMPED_TRY(amped_hdf5_get_text(file, "/", "amped_format", &format));
  bool is_checkpoint = strcmp(format, "checkpoint") == 0;
  amped_free(format);
  if (!is_checkpoint)
    return amped_error(AMPED_BAD_INPUT, file->path,
                       "is not a checkpoint; name another file with --checkpoint");
  for (key->order = 0; exists && key->order < AMPED_MAX_ORDER; key->order += exists) {
    (void)snprintf(name, sizeof name, "/factors/%d", key->order);
    AMPED_TRY(amped_hdf5_exists(file, name, &exists));
  }
  AMPED_TRY(amped_hdf5_dataset_open(file, "/factors/0", 2, &d));
  key->precision = (amped_vtype)d.type.bytes;
  key->ncomps = d.dims[1] <= AMPED_MAX_NCOMPS ? (int)d.dims[1] : 0;
  amped_hdf5_dataset_close(&d);
  AMPED_TRY(amped_fields_get(file, fields, FIELDS, key->order, key));
  AMPED_TRY(amped_hdf5_metric_get(file, metric));
  key->metric = metric->name;
  return AMPED_OK;
}

/* Read `rows` rows of `columns` numbers, stored as `type`; all must be finite. */
static amped_status read_numbers(amped_hdf5 *file, const char *name, int ndims,
                                 amped_hdf5_type type, uint64_t rows, uint64_t columns,
                                 double *out) {
  amped_hdf5_dataset d;
  amped_status status = AMPED_OK;
  AMPED_TRY(amped_hdf5_dataset_open(file, name, ndims, &d));
  AMPED_GO(done, amped_hdf5_dataset_expect(&d, type, rows, columns));
  AMPED_GO(done, amped_hdf5_dataset_read(&d, f64, 0, rows, out));
  for (uint64_t i = 0; i < rows * columns && status == AMPED_OK; i++)
    if (!isfinite(out[i]))
      status = amped_error(AMPED_BAD_INPUT, file->path, "dataset %s has a value that is not finite",
                           name);
done:
  amped_hdf5_dataset_close(&d);
  return status;
}

static amped_status read_doubles(amped_hdf5 *file, const char *name, int ndims, uint64_t rows,
                                 uint64_t columns, double *out) {
  return read_numbers(file, name, ndims, f64, rows, columns, out);
}

static amped_status read_solver_numbers(amped_hdf5 *file, amped_solver_state *state) {
  amped_hdf5_dataset d;
  AMPED_TRY(amped_hdf5_dataset_open(file, "/numbers", 1, &d));
  state->number_count = d.dims[0];
  amped_hdf5_dataset_close(&d);
  AMPED_TRY(amped_mem_check(file->path, "its numbers", state->number_count * sizeof(double)));
  AMPED_TRY(
      amped_alloc(&state->numbers, state->number_count, sizeof(double), "the solver's state"));
  return read_doubles(file, "/numbers", 1, state->number_count, 1, state->numbers);
}

static amped_status read_second(amped_hdf5 *file, const amped_checkpoint_key *key,
                                amped_solver_state *state) {
  const uint64_t n = (uint64_t)key->ncomps;
  const amped_hdf5_type stored = {AMPED_FLOAT, (uint64_t)key->precision};
  char name[AMPED_HDF5_NAME];
  AMPED_TRY(amped_ktensor_create(&state->kept, key->order, key->dims, key->ncomps));
  for (uint64_t r = 0; r < n; r++)
    state->kept.weights[r] = 1.0;
  for (int m = 0; m < key->order; m++) {
    (void)snprintf(name, sizeof name, "/kept/%d", m);
    AMPED_TRY(read_numbers(file, name, 2, stored, key->dims[m], n, state->kept.factors[m]));
  }
  return AMPED_OK;
}

static amped_status read_state(amped_hdf5 *file, const amped_checkpoint_key *key,
                               amped_solver_state *state) {
  const uint64_t n = (uint64_t)key->ncomps;
  const amped_hdf5_metric metric = amped_hdf5_metric_of(key->metric);
  amped_hdf5_dataset d;
  double *all = NULL;
  amped_status status = AMPED_OK;
  AMPED_TRY(amped_hdf5_dataset_open(file, metric.history, 1, &d));
  uint64_t sweeps = d.dims[0];
  amped_hdf5_dataset_close(&d);
  AMPED_TRY(amped_solver_state_create(state, key->order, key->ncomps, sweeps, key->has_grams));
  state->metric = key->metric;
  AMPED_TRY(read_doubles(file, metric.history, 1, sweeps, 1, state->history));
  AMPED_TRY(read_doubles(file, "/weights", 1, n, 1, state->weights));
  if (key->has_numbers)
    AMPED_TRY(read_solver_numbers(file, state));
  if (key->keeps_second)
    AMPED_TRY(read_second(file, key, state));
  if (!key->has_grams)
    return AMPED_OK;
  AMPED_TRY(amped_alloc(&all, (uint64_t)key->order * n * n, sizeof *all, "the gram matrices"));
  status = read_doubles(file, "/grams", 2, (uint64_t)key->order * n, n, all);
  for (int m = 0; m < key->order && status == AMPED_OK; m++)
    memcpy(state->grams[m], all + (uint64_t)m * n * n, n * n * sizeof *all);
  amped_free(all);
  return status;
}

static const char *text_or(const char *text, const char *missing) {
  return text != NULL ? text : missing;
}

/* Returns "" if both keys are of the same run; otherwise a text with the difference and the
 * remedy. */
static const char *difference(const amped_checkpoint_key *found, const amped_checkpoint_key *key,
                              char *text, size_t size) {
  char dims[AMPED_DIMS_TEXT];
  char theirs[AMPED_ROW_RULE_TEXT];
  char ours[AMPED_ROW_RULE_TEXT];
  const char *const method = text_or(found->method, "als");
  const char *const loss = text_or(found->loss, "squares");
  const char *const accelerate = text_or(found->accelerate, "none");
  const char *const rows[] = {text_or(found->rows, "plain"), text_or(key->rows, "plain")};
  const int components = found->ncomps - (found->last_column != NULL ? 1 : 0);
  bool same = found->order == key->order;
  text[0] = '\0';
  for (int m = 0; same && m < key->order; m++)
    same = found->dims[m] == key->dims[m];
  if (!same)
    (void)snprintf(text, size,
                   "belongs to another tensor, of %s; name another file with --checkpoint",
                   amped_format_dims(dims, found->order, found->dims));
  else if (found->nnz != key->nnz || found->hash != key->hash)
    (void)snprintf(text, size,
                   "belongs to another tensor of the same dimensions (%" PRIu64
                   " nonzeros, hash %016" PRIx64 "); name another file with --checkpoint",
                   found->nnz, found->hash);
  else if (strcmp(loss, text_or(key->loss, "squares")) != 0)
    (void)snprintf(text, size, "began with --loss=%.20s; use that or another file", loss);
  else if (strcmp(found->metric, key->metric) != 0)
    (void)snprintf(
        text, size,
        "belongs to a solver with the metric %s, not %s; name another file with --checkpoint",
        found->metric, key->metric);
  else if (strcmp(method, text_or(key->method, "als")) != 0)
    (void)snprintf(text, size, "began with --method=%.20s; use that or another file", method);
  else if (strcmp(accelerate, text_or(key->accelerate, "none")) != 0)
    (void)snprintf(text, size, "began with --accelerate=%.20s; use that or another file",
                   accelerate);
  else if (strcmp(rows[0], rows[1]) != 0)
    (void)snprintf(text, size, "began with rows that are %.200s, not %.200s; use another file",
                   amped_row_rule_key_told(rows[0], theirs),
                   amped_row_rule_key_told(rows[1], ours));
  else if (strcmp(text_or(found->fixed, "no mode"), text_or(key->fixed, "no mode")) != 0)
    (void)snprintf(
        text, size,
        "began with other fixed modes or factors (%.100s, not %.100s); use the same --fix "
        "and the same file of --init, or another file",
        text_or(found->fixed, "no mode"), text_or(key->fixed, "no mode"));
  else if ((found->last_column != NULL) != (key->last_column != NULL))
    (void)snprintf(text, size, "began %s biases; use the same --bias or another file",
                   found->last_column != NULL ? "with" : "without");
  else if (found->ncomps != key->ncomps)
    (void)snprintf(text, size, "has %d components; use --rank=%d or another file", components,
                   components);
  else if (found->precision != key->precision)
    (void)snprintf(text, size, "has another precision; use --precision=%s or another file",
                   found->precision == AMPED_F32 ? "float" : "double");
  else if (strcmp(found->init, key->init) != 0)
    (void)snprintf(text, size, "began from --init=%.200s; use that or another file", found->init);
  else if (found->seed != key->seed)
    (void)snprintf(text, size, "began from --seed=%" PRIu64 "; use that or another file",
                   found->seed);
  return text;
}

/* Read the factors of a checkpoint. */
static amped_status read_factors(const char *path, const amped_checkpoint_key *key,
                                 amped_ktensor *k) {
  AMPED_TRY(amped_result_file_read(path, k));
  bool same = k->order == key->order && k->ncomps == key->ncomps;
  for (int m = 0; same && m < key->order; m++)
    same = k->dims[m] == key->dims[m];
  if (same)
    return AMPED_OK;
  amped_ktensor_free(k);
  return amped_error(AMPED_BAD_INPUT, path, "its factors do not match its input_dims; remove it");
}

/* Read a generation. *refused: it belongs to another run, and no damage was found. */
static amped_status read_one(const char *path, const amped_checkpoint_key *key, amped_ktensor *k,
                             amped_solver_state *state, bool *refused) {
  amped_hdf5 file = {.open = false};
  amped_checkpoint_key found = {.order = 0};
  amped_hdf5_metric metric;
  char text[512];
  amped_status status = AMPED_OK;
  *refused = false;
  AMPED_GO(done, amped_hdf5_open(path, &file));
  AMPED_GO(done, read_key(&file, &found, &metric));
  *refused = difference(&found, key, text, sizeof text)[0] != '\0';
  if (*refused)
    status = amped_error(AMPED_BAD_INPUT, path, "%s", text);
  else
    status = read_state(&file, key, state);
done:
  amped_fields_free(fields, FIELDS, &found);
  amped_hdf5_close(&file);
  if (status == AMPED_OK)
    status = read_factors(path, key, k);
  if (status != AMPED_OK)
    amped_solver_state_free(state);
  return status;
}

static bool is_there(const char *path) {
  return access(path, F_OK) == 0;
}

/* Report the error of FILE as a warning instead. */
static void warn_of_damage(const char *previous) {
  amped_warn("%s (the previous checkpoint, %s, is used)", amped_status_bare(amped_status_message()),
             previous);
  amped_status_clear();
}

static amped_status read_latest(const char *path, const char *previous,
                                const amped_checkpoint_key *key, amped_ktensor *k,
                                amped_solver_state *state, amped_generation *generation) {
  bool refused = false;
  *generation = is_there(path) ? AMPED_GENERATION_LATEST : AMPED_GENERATION_NONE;
  if (*generation == AMPED_GENERATION_LATEST) {
    amped_status status = read_one(path, key, k, state, &refused);
    if (status != AMPED_BAD_INPUT || refused || !is_there(previous))
      return status;
    warn_of_damage(previous);
  } else if (is_there(previous)) {
    amped_warn("%s is missing (the previous checkpoint, %s, is used)", path, previous);
  } else {
    return AMPED_OK;
  }
  *generation = AMPED_GENERATION_PREVIOUS;
  return read_one(previous, key, k, state, &refused);
}

amped_status amped_checkpoint_file_read(const char *path, const amped_checkpoint_key *key,
                                        amped_ktensor *k, amped_solver_state *state,
                                        amped_generation *generation) {
  char *previous = NULL;
  memset(k, 0, sizeof *k);
  memset(state, 0, sizeof *state);
  *generation = AMPED_GENERATION_NONE;
  AMPED_TRY(amped_file_previous(path, &previous));
  amped_status status = read_latest(path, previous, key, k, state, generation);
  amped_free(previous);
  return status;
}
