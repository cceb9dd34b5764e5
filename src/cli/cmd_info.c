/* info: prints the facts of a tensor, result, checkpoint or state, and verifies it. */
#include <jansson.h>
#include <math.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/completion_text.h"
#include "cli/info_dense.h"
#include "cli/info_state.h"
#include "cli/info_text.h"
#include "load/dense_source.h"
#include "tensor/form.h"
#include "tensor/format.h"
#include "base/facts.h"
#include "base/json.h"
#include "session/output_guard.h"
#include "base/magic.h"
#include "base/mem.h"
#include "base/printable.h"
#include "formats/completion_file.h"
#include "formats/dense_file.h"
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
    value = text[0] != '\0' ? amped_json_string(text) : json_null();
  return value;
}

/* --- tensors --------------------------------------------------------------------------------- */

static double density(const amped_tensor_info *info) {
  return amped_form_density(info->order, info->dims, info->nnz);
}

static uint64_t nonzero_bytes(const amped_tensor_info *info) {
  uint64_t bytes = (uint64_t)info->value_type;
  for (int m = 0; m < info->order; m++)
    bytes += (uint64_t)info->index_types[m];
  return bytes;
}

static void copies_facts(const amped_tensor_info *info, amped_facts *f) {
  amped_fact_json(f, "copies", json_array());
  if (!info->has_copies)
    amped_fact_words(f,
                     "copies       none: a plain coordinate list (amped_mpi convert adds them)\n");
  for (int m = 0; info->has_copies && m < info->order; m++) {
    const amped_partition *p = &info->partitions[m];
    amped_facts copy;
    amped_facts_begin(&copy, NULL);
    amped_fact(&copy, "mode", json_integer(m), "copy %d       ", m + 1);
    amped_fact(&copy, "idps", amped_json_count(p->idp_count), "%" PRIu64 " iDps", p->idp_count);
    amped_fact(&copy, "width", amped_json_count(p->width), " of %" PRIu64 " ind%s", p->width,
               p->width == 1 ? "ex" : "ices");
    amped_facts_row(f, "copies", &copy);
  }
}

static void tensor_facts(const char *path, const amped_tensor_info *info, amped_facts *f) {
  const char *type = amped_vtype_name(info->value_type);
  const char *duplicates = amped_duplicates_name(info->duplicates);
  const bool repeats = amped_tensor_info_repeats(info);
  char text[AMPED_DIMS_TEXT];
  char hash[32];
  amped_fact(f, "kind", json_string("tensor"), "tensor       ");
  amped_fact(f, "file", amped_json_string(path), "%s\n", amped_io_name(path));
  amped_fact(f, "order", json_integer(info->order), "order        %d\n", info->order);
  amped_fact(f, "dims", amped_json_counts(info->dims, info->order), "dimensions   %s\n",
             amped_format_dims(text, info->order, info->dims));
  amped_fact(f, "nnz", amped_json_count(info->nnz), "nonzeros     %" PRIu64, info->nnz);
  if (repeats)
    amped_fact(f, "density", json_null(), ", several of some cells\n");
  else
    amped_fact(f, "density", amped_json_number(density(info)), " (density %.3g)\n", density(info));
  amped_fact(f, "value_type", json_string(type), "values       %s", type);
  amped_fact(f, "bytes_per_nonzero", amped_json_count(nonzero_bytes(info)),
             ", %" PRIu64 " bytes per nonzero with indices\n", nonzero_bytes(info));
  amped_fact_json(f, "duplicates", amped_json_string(duplicates));
  if (info->duplicates != AMPED_DUPLICATES_UNKNOWN)
    amped_fact_words(f, "duplicates   %s\n", duplicates);
  if (info->has_hash) {
    (void)snprintf(hash, sizeof hash, "%016" PRIx64, info->hash);
    amped_fact_json(f, "hash", json_string(hash));
    amped_info_norm(f, info->norm_squared, info->nnz);
  }
  copies_facts(info, f);
  if (!repeats && amped_form_dense_is_faster(density(info)))
    amped_info_form(f, density(info));
}

static amped_status labels_facts(amped_tensor_file *file, amped_facts *f) {
  const amped_tensor_info *info = amped_tensor_file_info(file);
  for (int m = 0; m < info->order; m++) {
    amped_labels labels;
    AMPED_TRY(amped_tensor_file_label_edges(file, m, &labels));
    amped_info_labels(f, m, &labels, labels.count > 0 ? info->dims[m] : 0);
    amped_labels_free(&labels);
  }
  return AMPED_OK;
}

static amped_status verify(amped_tensor_file *file, amped_facts *f) {
  const amped_tensor_info *info = amped_tensor_file_info(file);
  const double read = (double)info->nnz * (info->has_copies ? info->order : 1);
  const double began = amped_time();
  bool sealed = false;
  char rate[32];
  AMPED_TRY(amped_tensor_file_verify(file));
  AMPED_TRY(amped_tensor_file_sealed(file, &sealed));
  const double sec = amped_time() - began;
  amped_fact(f, "verify_sec", amped_json_number(sec), "verified     in %.2f s, %s nonzeros/s\n",
             sec, amped_format_count(rate, sec > 0.0 ? read / sec : 0.0));
  amped_info_sealed(f, sealed && info->has_hash,
                    info->has_hash ? "labels and tables have" : "the nonzeros have");
  return AMPED_OK;
}

static amped_status info_tensor(const amped_options *o, amped_json *json) {
  amped_tensor_file *file = NULL;
  amped_facts f;
  AMPED_TRY(amped_tensor_file_open(o->args[0], &file));
  amped_facts_begin(&f, NULL);
  tensor_facts(o->args[0], amped_tensor_file_info(file), &f);
  amped_status status = labels_facts(file, &f);
  if (status == AMPED_OK && o->info.verify)
    status = verify(file, &f);
  amped_tensor_file_close(file);
  return amped_facts_end(&f, json, status);
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

static amped_status tell_text(const amped_options *o, const amped_sptensor *t,
                              const stream_facts *found, double sec, amped_json *json) {
  amped_tensor_info info = {
      .order = t->order, .nnz = found->nnz, .value_type = found->wide ? AMPED_F64 : AMPED_F32};
  amped_facts f;
  for (int m = 0; m < t->order; m++) {
    info.dims[m] = t->dims[m];
    info.index_types[m] = amped_itype_for(t->dims[m]);
  }
  amped_facts_begin(&f, NULL);
  tensor_facts(o->args[0], &info, &f);
  amped_fact_words(&f, "repeats      not looked for (amped_mpi convert finds them)\n");
  amped_fact_words(&f, "range        %.6g ... %.6g\n", found->least, found->most);
  if (found->zeros > 0)
    amped_fact_words(&f, "zeros        %" PRIu64 " of the nonzeros have the value 0\n",
                     found->zeros);
  for (int m = 0; m < t->order; m++)
    amped_info_labels(&f, m, &t->labels[m], t->labels[m].count);
  /* A text has been read whole by now, with a check of every line. */
  if (o->info.verify) {
    amped_fact(&f, "verify_sec", amped_json_number(sec), "verified     in %.2f s\n", sec);
    amped_fact_json(&f, "content_hash", json_false());
  }
  return amped_facts_write(&f, json);
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
  char loss[16];        /* "": squares */
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
  AMPED_TRY(amped_result_file_text(path, "loss", r->loss, sizeof r->loss));
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

/* Add a text, with a line if it is not empty. what: the first word of the line. */
static void text_facts(const char *what, const char *key, const char *text, bool parse,
                       amped_facts *f) {
  char line[TEXT_BYTES];
  amped_fact_json(f, key, json_text(text, parse));
  if (*text != '\0')
    amped_fact_words(f, "%-12s %s\n", what, amped_printable_text(line, sizeof line, text));
}

static void range_of(const double *list, uint64_t count, double *least, double *most) {
  *least = INFINITY;
  *most = -INFINITY;
  for (uint64_t i = 0; i < count; i++) {
    *least = fmin(*least, list[i]);
    *most = fmax(*most, list[i]);
  }
}

/* The metric's value for the model in the file. */
static double value_of(const record *r) {
  const double validate = amped_completion_error(&r->completion, AMPED_COMPLETION_VALIDATE);
  if (r->completion.order == 0)
    return r->metric.sweeps.last;
  return !isnan(validate) ? validate
                          : amped_completion_error(&r->completion, AMPED_COMPLETION_TRAIN);
}

/* The metric after the last sweep, and its range over starts. The line of a completion model has
 * its errors instead: its best sweep need not be the last. */
static void metric_facts(const record *r, amped_facts *f) {
  const amped_result_metric *m = &r->metric;
  const bool known = m->sweeps.count > 0;
  amped_fact_json(f, "metric", json_string(m->name));
  amped_fact_json(f, m->name, known ? amped_json_number(value_of(r)) : json_null());
  amped_fact_json(f, "sweeps", amped_json_count(m->sweeps.count));
  if (known && r->completion.order == 0)
    amped_fact_words(f, "%-12s %.9g after %" PRIu64 " sweeps\n", m->name, value_of(r),
                     m->sweeps.count);
  amped_fact_json(f, "starts", amped_json_count(m->starts.count));
  if (m->starts.count > 0)
    amped_fact_words(f, "best of      %" PRIu64 " starts, %s%s %.9g to %.9g\n", m->starts.count,
                     m->name, strcmp(m->name, "explained") == 0 ? "" : "s", m->starts.least,
                     m->starts.most);
}

static void result_facts(const char *path, const amped_ktensor *k, const record *r,
                         amped_facts *f) {
  const char *kind = strcmp(r->format, "checkpoint") == 0 ? "checkpoint" : "result";
  const bool biases = r->last_column[0] != '\0';
  const int components = k->ncomps - (biases ? 1 : 0);
  char text[AMPED_DIMS_TEXT];
  char corcondia[AMPED_CORCONDIA_TEXT];
  double least = 0.0;
  double most = 0.0;
  range_of(k->weights, (uint64_t)k->ncomps, &least, &most);
  amped_fact(f, "kind", json_string(kind), "%-12s ", kind);
  amped_fact(f, "file", amped_json_string(path), "%s\n", path);
  text_facts("of", "input", r->input, false, f);
  amped_fact(f, "ncomps", json_integer(components), "components   %d%s\n", components,
             biases ? ", and a column of biases" : "");
  amped_fact(f, "dims", amped_json_counts(k->dims, k->order), "dimensions   %s\n",
             amped_format_dims(text, k->order, k->dims));
  text_facts("loss", "loss", r->loss, false, f);
  amped_fact_words(f, "weights      %.6g ... %.6g\n", most, least);
  if (r->completion.order > 0)
    amped_completion_facts(&r->completion, k->labels, r->metric.name, f);
  metric_facts(r, f);
  amped_fact_json(f, "corcondia", amped_json_number(r->corcondia));
  if (!isnan(r->corcondia))
    amped_fact_words(f, "core cons.   %s\n", amped_corcondia_text(corcondia, r->corcondia));
  text_facts("stopped on", "stop_reason", r->stop_reason, false, f);
  text_facts("options", "options", r->options, true, f);
  text_facts("written by", "version", r->version, false, f);
}

static amped_status info_result(const amped_options *o, amped_json *json) {
  const char *path = o->args[0];
  const double began = amped_time();
  amped_ktensor k = {.order = 0};
  amped_facts f;
  record *r = NULL;
  bool sealed = false;
  amped_status status = AMPED_OK;
  amped_facts_begin(&f, NULL);
  AMPED_GO(done, amped_calloc(&r, 1, sizeof *r, "the record of a result"));
  AMPED_GO(done, amped_result_file_scan(path, NULL, &k));
  AMPED_GO(done, read_label_edges(path, &k));
  AMPED_GO(done, read_record(path, &k, r));
  amped_completion_weigh(&r->completion, &k);
  result_facts(path, &k, r, &f);
  for (int m = 0; m < k.order; m++)
    amped_info_label_line(&f, m, &k.labels[m]);
  if (o->info.verify) {
    AMPED_GO(done, amped_result_file_verify(path, &sealed));
    const double sec = amped_time() - began;
    amped_fact(&f, "verify_sec", amped_json_number(sec), "verified     in %.2f s\n", sec);
    amped_info_sealed(&f, sealed, "some datasets have");
  }
done:
  if (r != NULL) {
    amped_result_metric_free(&r->metric);
    amped_completion_free(&r->completion);
  }
  amped_free(r);
  amped_ktensor_free(&k);
  return amped_facts_end(&f, json, status);
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
  if (amped_io_is_hdf5(path))
    AMPED_TRY(amped_dense_source_is(path, o->session.dataset, &is));
  else /* HDF5 under another name */
    AMPED_TRY(amped_dense_file_is(path, o->session.dataset, &is));
  *out = is ? DENSE : TENSOR;
  return AMPED_OK;
}

static bool is_text(const unsigned char *bytes, uint64_t count) {
  for (uint64_t i = 0; i < count; i++)
    if (bytes[i] == '\0' || (bytes[i] < ' ' && strchr("\t\n\r", bytes[i]) == NULL))
      return false;
  return true;
}

/* Is a file without a known suffix of a kind that is not read, or a text without --format? */
static bool is_foreign(const amped_options *o) {
  unsigned char bytes[AMPED_MAGIC_BYTES];
  const uint64_t count = amped_magic_read(o->args[0], bytes);
  if (count == 0 || amped_hdf5_is(o->args[0]))
    return false;
  return amped_read_options_of_table(&o->read) || amped_magic_kind(bytes, count) != NULL ||
         is_text(bytes, count);
}

static amped_status find_kind(const amped_options *o, kind *out) {
  amped_format format = AMPED_FORMAT_HDF5;
  const amped_status named = amped_io_input_format(o->args[0], &o->read, &format);
  if (named != AMPED_OK && is_foreign(o))
    return named;
  if (named != AMPED_OK) {
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
