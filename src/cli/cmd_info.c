/* info: prints the facts of a tensor, result, checkpoint or state, and verifies it. */
#include <jansson.h>
#include <math.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/completion_text.h"
#include "cli/info_dense.h"
#include "cli/info_state.h"
#include "load/dense_source.h"
#include "tensor/form.h"
#include "tensor/format.h"
#include "base/json.h"
#include "session/output_guard.h"
#include "base/mem.h"
#include "base/printable.h"
#include "formats/completion_file.h"
#include "hdf5/hdf5_probe.h"
#include "formats/result_file.h"
#include "state/state_file.h"
#include "formats/tensor_file.h"
#include "solver/cpd/corcondia.h"
#include "text/io.h"
#include "base/timer.h"

#define TEXT_BYTES 4096

/* JSON of a text: null if it is empty; its content if `parse` is set and it is JSON (the options);
 * else a string. NULL: out of memory. */
static json_t *json_text(const char *text, bool parse) {
  json_error_t error;
  bool no_memory = false;
  json_t *value = parse ? amped_json_loads(text, &error, &no_memory) : NULL;
  if (value == NULL && !no_memory)
    value = text[0] != '\0' ? amped_json_text(text, strlen(text)) : json_null();
  return value;
}

/* --- tensors --------------------------------------------------------------------------------- */

static double density(const amped_tensor_info *info) {
  return amped_form_density(info->order, info->dims, info->nnz);
}

/* Should the dense form be suggested? */
static bool may_be_dense(const amped_tensor_info *info) {
  return amped_form_dense_is_faster(density(info));
}

static uint64_t nonzero_bytes(const amped_tensor_info *info) {
  uint64_t bytes = (uint64_t)info->value_type;
  for (int m = 0; m < info->order; m++)
    bytes += (uint64_t)info->index_types[m];
  return bytes;
}

static void say_copies(const amped_tensor_info *info) {
  if (info->has_hash)
    amped_say("norm         %.9g", sqrt(info->norm_squared));
  if (!info->has_copies) {
    amped_say("copies       none: a plain coordinate list (amped_mpi convert adds them)");
    return;
  }
  for (int m = 0; m < info->order; m++) {
    const amped_partition *p = &info->partitions[m];
    amped_say("copy %d       %" PRIu64 " iDps of %" PRIu64 " ind%s", m + 1, p->idp_count, p->width,
              p->width == 1 ? "ex" : "ices");
  }
}

static void say_tensor(const char *path, const amped_tensor_info *info) {
  char text[AMPED_DIMS_TEXT];
  amped_say("tensor       %s", path);
  amped_say("order        %d", info->order);
  amped_say("dimensions   %s", amped_format_dims(text, info->order, info->dims));
  amped_say("nonzeros     %" PRIu64 " (density %.3g)", info->nnz, density(info));
  amped_say("values       %s, %" PRIu64 " bytes per nonzero with indices",
            amped_vtype_name(info->value_type), nonzero_bytes(info));
  if (info->duplicates != AMPED_DUPLICATES_UNKNOWN)
    amped_say("duplicates   %s", amped_duplicates_name(info->duplicates));
  say_copies(info);
  if (may_be_dense(info))
    amped_info_say_form(density(info));
}

static void say_labels(int mode, const amped_labels *labels) {
  char name[128];
  char first[64];
  char last[64];
  if (labels->count == 0)
    return;
  amped_say("labels %d     %s%s%s ... %s", mode + 1, amped_format_name(name, sizeof name, labels),
            labels->name != NULL ? ": " : "", amped_label_text(labels, 0, first, sizeof first),
            amped_label_text(labels, labels->count - 1, last, sizeof last));
}

static json_t *json_copies(const amped_tensor_info *info) {
  json_t *array = json_array();
  for (int m = 0; info->has_copies && m < info->order; m++) {
    const amped_partition *p = &info->partitions[m];
    json_t *copy = json_pack("{s:i, s:o, s:o}", "mode", m, "width", amped_json_count(p->width),
                             "idps", amped_json_count(p->idp_count));
    if (json_array_append_new(array, copy) != 0) {
      json_decref(array);
      return NULL;
    }
  }
  return array;
}

static json_t *json_tensor(const char *path, const amped_tensor_info *info) {
  char hash[32];
  json_t *object =
      json_pack("{s:s, s:o, s:i, s:o, s:o, s:f, s:s, s:o, s:s?, s:o}", "kind", "tensor", "file",
                json_text(path, false), "order", info->order, "dims",
                amped_json_counts(info->dims, info->order), "nnz", amped_json_count(info->nnz),
                "density", density(info), "value_type", amped_vtype_name(info->value_type),
                "bytes_per_nonzero", amped_json_count(nonzero_bytes(info)), "duplicates",
                amped_duplicates_name(info->duplicates), "copies", json_copies(info));
  if (object != NULL && may_be_dense(info) && !amped_info_json_form(density(info), object)) {
    json_decref(object);
    return NULL;
  }
  if (object == NULL || !info->has_hash)
    return object;
  (void)snprintf(hash, sizeof hash, "%016" PRIx64, info->hash);
  if (json_object_set_new(object, "norm", json_real(sqrt(info->norm_squared))) == 0 &&
      json_object_set_new(object, "hash", json_string(hash)) == 0)
    return object;
  json_decref(object);
  return NULL;
}

/* Report a mode's labels as a line of text and in two JSON arrays. names gets the mode's name, or
 * null. counts gets `count`, which is 0 if there are no labels. labels: at least the first and the
 * last of `count`. */
static amped_status tell_mode(int mode, const amped_labels *labels, uint64_t count, json_t *names,
                              json_t *counts) {
  say_labels(mode, labels);
  if (json_array_append_new(names, json_text(labels->name != NULL ? labels->name : "", false)) !=
          0 ||
      json_array_append_new(counts, amped_json_count(count)) != 0)
    return amped_error(AMPED_FAILED, NULL, "out of memory for a JSON line");
  return AMPED_OK;
}

static amped_status tell_labels(amped_tensor_file *file, json_t *names, json_t *counts) {
  amped_status status = AMPED_OK;
  for (int m = 0; m < amped_tensor_file_info(file)->order && status == AMPED_OK; m++) {
    amped_labels labels;
    AMPED_TRY(amped_tensor_file_label_edges(file, m, &labels));
    status = tell_mode(m, &labels, labels.count > 0 ? amped_tensor_file_info(file)->dims[m] : 0,
                       names, counts);
    amped_labels_free(&labels);
  }
  return status;
}

/* Print that a verified file has no content hash: an earlier build or another program wrote it. */
static void say_unsealed(const char *what) {
  amped_say("             %s no content hash: only checksums protect them", what);
}

static amped_status verify(amped_tensor_file *file, double *sec, bool *sealed) {
  const amped_tensor_info *info = amped_tensor_file_info(file);
  char rate[32];
  double began = amped_time();
  AMPED_TRY(amped_tensor_file_verify(file));
  AMPED_TRY(amped_tensor_file_sealed(file, sealed));
  *sealed = *sealed && info->has_hash;
  *sec = amped_time() - began;
  double read = (double)info->nnz * (info->has_copies ? info->order : 1);
  amped_say("verified     in %.2f s, %s nonzeros/s", *sec,
            amped_format_count(rate, *sec > 0.0 ? read / *sec : 0.0));
  if (!*sealed)
    say_unsealed(info->has_hash ? "labels and tables have" : "the nonzeros have");
  return AMPED_OK;
}

/* Returns false if memory is short. */
static bool json_verified(const amped_options *o, json_t *object, double sec, bool sealed) {
  return !o->info.verify ||
         (json_object_set_new(object, "verify_sec", json_real(sec)) == 0 &&
          json_object_set_new(object, "content_hash", json_boolean(sealed)) == 0);
}

/* Complete and write the line of a tensor. Takes the object. */
static amped_status end_line(const amped_options *o, amped_json *json, json_t *object,
                             json_t *names, json_t *counts, double sec, bool sealed) {
  if (json_object_set(object, "mode_names", names) == 0 &&
      json_object_set(object, "labels", counts) == 0 && json_verified(o, object, sec, sealed))
    return amped_json_line(json, object);
  json_decref(object);
  return amped_json_line(json, NULL);
}

static amped_status info_tensor_file(const amped_options *o, amped_tensor_file *file,
                                     amped_json *json) {
  const amped_tensor_info *info = amped_tensor_file_info(file);
  double sec = 0.0;
  bool sealed = false;
  json_t *object = json_tensor(o->args[0], info);
  json_t *names = json_array();
  json_t *counts = json_array();
  amped_status status = AMPED_OK;
  say_tensor(o->args[0], info);
  AMPED_GO(done, tell_labels(file, names, counts));
  if (o->info.verify)
    AMPED_GO(done, verify(file, &sec, &sealed));
  status = end_line(o, json, object, names, counts, sec, sealed);
  object = NULL;
done:
  json_decref(object);
  json_decref(names);
  json_decref(counts);
  return status;
}

static amped_status info_tensor(const amped_options *o, amped_json *json) {
  amped_tensor_file *file = NULL;
  AMPED_TRY(amped_tensor_file_open(o->args[0], &file));
  amped_status status = info_tensor_file(o, file, json);
  amped_tensor_file_close(file);
  return status;
}

/* --- text and tables ------------------------------------------------------------------------- */

/* Facts of the nonzeros of a text, which need not fit in memory. */
typedef struct stream_facts {
  uint64_t nnz, zeros;
  double least, most;
  bool wide; /* a value changes when converted to float */
} stream_facts;

/* Memory for nonzeros, in bytes, before they are counted and dropped. */
#define LOOK_BYTES (UINT64_C(256) << 20)

static amped_status look(void *context, amped_sptensor *t, double fraction) {
  stream_facts *f = context;
  (void)fraction;
  for (uint64_t k = 0; k < t->nnz; k++) {
    f->least = fmin(f->least, t->values[k]);
    f->most = fmax(f->most, t->values[k]);
    f->zeros += t->values[k] == 0.0;
  }
  f->wide = f->wide || !amped_sptensor_fits_float(t);
  f->nnz += t->nnz;
  t->nnz = 0;
  return AMPED_OK;
}

static void say_stream(const amped_options *o, const amped_sptensor *t, const stream_facts *f,
                       amped_tensor_info *info) {
  info->order = t->order;
  info->nnz = f->nnz;
  info->value_type = f->wide ? AMPED_F64 : AMPED_F32;
  for (int m = 0; m < t->order; m++) {
    info->dims[m] = t->dims[m];
    info->index_types[m] = amped_itype_for(t->dims[m]);
  }
  say_tensor(amped_io_name(o->args[0]), info);
  amped_say("repeats      not looked for (amped_mpi convert finds them)");
  amped_say("range        %.6g ... %.6g", f->least, f->most);
  if (f->zeros > 0)
    amped_say("zeros        %" PRIu64 " of the nonzeros have the value 0", f->zeros);
}

static amped_status tell_text(const amped_options *o, const amped_sptensor *t,
                              const stream_facts *f, double sec, amped_json *json) {
  amped_tensor_info info = {.order = 0};
  say_stream(o, t, f, &info);
  json_t *object = json_tensor(o->args[0], &info);
  json_t *names = json_array();
  json_t *counts = json_array();
  amped_status status = AMPED_OK;
  for (int m = 0; m < t->order; m++)
    AMPED_GO(done, tell_mode(m, &t->labels[m], t->labels[m].count, names, counts));
  /* A text has been read whole by now, with a check of every line. */
  if (o->info.verify)
    amped_say("verified     in %.2f s", sec);
  status = end_line(o, json, object, names, counts, sec, false);
  object = NULL;
done:
  json_decref(object);
  json_decref(names);
  json_decref(counts);
  return status;
}

static amped_status info_text(const amped_options *o, amped_json *json) {
  const double began = amped_time();
  stream_facts f = {.least = INFINITY, .most = -INFINITY};
  const amped_overflow overflow = {.memory = LOOK_BYTES, .take = look, .context = &f};
  amped_read_options how = o->read;
  amped_sptensor t = {.order = 0};
  amped_status status = AMPED_OK;
  how.overflow = &overflow;
  AMPED_TRY(amped_io_read(o->args[0], &how, &t));
  AMPED_GO(done, look(&f, &t, 1.0));
  status = tell_text(o, &t, &f, amped_time() - began, json);
done:
  amped_sptensor_free(&t);
  return status;
}

/* --- results --------------------------------------------------------------------------------- */

/* Facts of a result's file other than the factors. A missing text is "". */
typedef struct record {
  amped_result_metric metric;
  amped_completion completion; /* without biases; order 0: a plain decomposition */
  double corcondia;
  char format[64];
  char last_column[64]; /* "biases" if the last column is no component */
  char stop_reason[64];
  char input[TEXT_BYTES];
  char version[64];
  char options[TEXT_BYTES];
} record;

static amped_status read_record(const char *path, const amped_ktensor *k, record *r) {
  AMPED_TRY(amped_completion_file_read(path, k->order, k->dims, false, &r->completion));
  AMPED_TRY(amped_result_file_metric(path, false, &r->metric));
  AMPED_TRY(amped_result_file_number(path, "corcondia", &r->corcondia));
  AMPED_TRY(amped_result_file_text(path, "amped_format", r->format, sizeof r->format));
  AMPED_TRY(amped_result_file_text(path, "last_column", r->last_column, sizeof r->last_column));
  AMPED_TRY(amped_result_file_text(path, "stop_reason", r->stop_reason, sizeof r->stop_reason));
  AMPED_TRY(amped_result_file_text(path, "input", r->input, sizeof r->input));
  AMPED_TRY(amped_result_file_text(path, "version", r->version, sizeof r->version));
  return amped_result_file_text(path, "options", r->options, sizeof r->options);
}

/* Read the first and last label of each mode. */
static amped_status read_label_edges(const char *path, amped_ktensor *k) {
  for (int m = 0; m < k->order; m++) {
    const uint64_t places[2] = {0, k->dims[m] - 1};
    AMPED_TRY(amped_result_file_labels(path, m, k->dims[m], places, k->dims[m] > 1 ? 2 : 1,
                                       &k->labels[m]));
  }
  return AMPED_OK;
}

static void say_text(const char *what, const char *text) {
  char line[TEXT_BYTES];
  if (*text != '\0')
    amped_say("%-12s %s", what, amped_printable_text(line, sizeof line, text));
}

static void range_of(const double *list, uint64_t count, double *least, double *most) {
  *least = INFINITY;
  *most = -INFINITY;
  for (uint64_t i = 0; i < count; i++) {
    *least = fmin(*least, list[i]);
    *most = fmax(*most, list[i]);
  }
}

/* Print the metric after the last sweep, and the range over starts. A completion model prints its
 * own errors instead: its best sweep need not be the last. */
static void say_metric(const amped_result_metric *m, bool completion) {
  if (m->sweeps.count > 0 && !completion)
    amped_say("%-12s %.9g after %" PRIu64 " sweeps", m->name, m->sweeps.last, m->sweeps.count);
  if (m->starts.count > 0)
    amped_say("best of      %" PRIu64 " starts, %ss %.9g to %.9g", m->starts.count, m->name,
              m->starts.least, m->starts.most);
}

static const char *kind_of(const record *r) {
  return strcmp(r->format, "checkpoint") == 0 ? "checkpoint" : "result";
}

static int components_of(const amped_ktensor *k, const record *r) {
  return k->ncomps - (r->last_column[0] != '\0' ? 1 : 0);
}

static void say_result(const char *path, const amped_ktensor *k, const record *r) {
  char text[AMPED_DIMS_TEXT];
  char corcondia[AMPED_CORCONDIA_TEXT];
  double least = 0.0;
  double most = 0.0;
  range_of(k->weights, (uint64_t)k->ncomps, &least, &most);
  amped_say("%-12s %s", kind_of(r), path);
  say_text("of", r->input);
  amped_say("components   %d%s", components_of(k, r),
            r->last_column[0] != '\0' ? ", and a column of biases" : "");
  amped_say("dimensions   %s", amped_format_dims(text, k->order, k->dims));
  amped_say("weights      %.6g ... %.6g", most, least);
  if (r->completion.order > 0)
    amped_completion_say(&r->completion, r->metric.name);
  say_metric(&r->metric, r->completion.order > 0);
  if (!isnan(r->corcondia))
    amped_say("core cons.   %s", amped_corcondia_text(corcondia, r->corcondia));
  say_text("stopped on", r->stop_reason);
  say_text("options", r->options);
  say_text("written by", r->version);
  for (int m = 0; m < k->order; m++)
    say_labels(m, &k->labels[m]);
}

/* The metric's value for the model in the file. */
static double value_of(const record *r) {
  const double validate = amped_completion_error(&r->completion, AMPED_COMPLETION_VALIDATE);
  if (r->completion.order == 0)
    return r->metric.sweeps.last;
  return !isnan(validate) ? validate
                          : amped_completion_error(&r->completion, AMPED_COMPLETION_TRAIN);
}

static json_t *json_result(const char *path, const amped_ktensor *k, const record *r) {
  const amped_result_metric *m = &r->metric;
  json_t *value = m->sweeps.count > 0 ? json_real(value_of(r)) : json_null();
  return json_pack("{s:s, s:o, s:i, s:o, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "kind",
                   kind_of(r), "file", json_text(path, false), "ncomps", components_of(k, r),
                   "dims", amped_json_counts(k->dims, k->order), "metric", m->name, m->name, value,
                   "sweeps", amped_json_count(m->sweeps.count), "starts",
                   amped_json_count(m->starts.count), "corcondia", amped_json_number(r->corcondia),
                   "stop_reason", json_text(r->stop_reason, false), "input",
                   json_text(r->input, false), "version", json_text(r->version, false), "options",
                   json_text(r->options, true));
}

static amped_status info_result(const amped_options *o, amped_json *json) {
  const char *path = o->args[0];
  double began = amped_time();
  amped_ktensor k = {.order = 0};
  record *r = NULL;
  json_t *object = NULL;
  bool sealed = false;
  amped_status status = AMPED_OK;
  AMPED_GO(done, amped_calloc(&r, 1, sizeof *r, "the record of a result"));
  AMPED_GO(done, amped_result_file_scan(path, NULL, &k));
  AMPED_GO(done, read_label_edges(path, &k));
  AMPED_GO(done, read_record(path, &k, r));
  amped_completion_weigh(&r->completion, &k);
  say_result(path, &k, r);
  if (o->info.verify) {
    AMPED_GO(done, amped_result_file_verify(path, &sealed));
    amped_say("verified     in %.2f s", amped_time() - began);
    if (!sealed)
      say_unsealed("some datasets have");
  }
  object = json_result(path, &k, r);
  if (object != NULL &&
      ((r->completion.order > 0 && !amped_completion_json(&r->completion, object)) ||
       !json_verified(o, object, amped_time() - began, sealed))) {
    json_decref(object);
    object = NULL;
  }
  status = amped_json_line(json, object);
done:
  if (r != NULL) {
    amped_result_metric_free(&r->metric);
    amped_completion_free(&r->completion);
  }
  amped_free(r);
  amped_ktensor_free(&k);
  return status;
}

typedef enum kind { TEXT, TENSOR, DENSE, RESULT, STATE } kind;

/* Find the kind of an HDF5 file, which is the only one that is read. */
static amped_status find_hdf5(const amped_options *o, kind *out) {
  const char *path = o->args[0];
  bool is = false;
  const amped_status status = amped_hdf5_probe(path);
  *out = STATE;
  if (status == AMPED_BAD_INPUT && amped_state_file_was(path)) {
    amped_status_clear(); /* opening the state reports what is wrong */
    return AMPED_OK;
  }
  AMPED_TRY(status);
  if (o->session.dataset == NULL)
    AMPED_TRY(amped_state_file_is(path, &is));
  if (is)
    return AMPED_OK;
  *out = RESULT;
  if (o->session.dataset == NULL)
    AMPED_TRY(amped_result_file_is(path, &is));
  if (is)
    return AMPED_OK;
  *out = DENSE;
  AMPED_TRY(amped_dense_source_is(path, o->session.dataset, &is));
  *out = is ? DENSE : TENSOR;
  return AMPED_OK;
}

static amped_status find_kind(const amped_options *o, kind *out) {
  amped_format format = AMPED_FORMAT_HDF5;
  if (amped_io_input_format(o->args[0], &o->read, &format) != AMPED_OK) {
    amped_status_clear(); /* HDF5 files are recognised by their content as well */
    format = AMPED_FORMAT_HDF5;
  }
  AMPED_TRY(amped_io_check(o->args[0], format, &o->read));
  if (format == AMPED_FORMAT_HDF5)
    return find_hdf5(o, out);
  bool is_dense = false;
  if (format == AMPED_FORMAT_NPY || o->session.dataset != NULL)
    AMPED_TRY(amped_dense_source_is(o->args[0], o->session.dataset, &is_dense));
  *out = is_dense ? DENSE : TEXT;
  return AMPED_OK;
}

amped_status amped_cmd_info(const amped_options *o) {
  static amped_status (*const tell[])(const amped_options *,
                                      amped_json *) = {[TEXT] = info_text,
                                                       [TENSOR] = info_tensor,
                                                       [DENSE] = amped_info_dense,
                                                       [RESULT] = info_result,
                                                       [STATE] = amped_info_state};
  amped_json *json = NULL;
  kind is = TEXT;
  if (o->info.system)
    return amped_cmd_system(o);
  AMPED_TRY(find_kind(o, &is));
  AMPED_TRY(amped_output_json(o->json, o->overwrite, &json));
  return amped_json_close(json, tell[is](o, json));
}
