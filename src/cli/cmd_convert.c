/* convert: makes tensor files from text, tables and dense arrays, and exports tensors and
 * results. */
#include <fcntl.h>
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/completion_text.h"
#include "cli/convert_dense.h"
#include "cli/input_files.h"
#include "cli/option_rules.h"
#include "tensor/compaction.h"
#include "tensor/format.h"
#include "tensor/label_order.h"
#include "sort_on_disk/external_sort.h"
#include "base/file.h"
#include "base/file_lock.h"
#include "text/io.h"
#include "text/io_number.h"
#include "text/io_result.h"
#include "text/io_table.h"
#include "text/io_table_write.h"
#include "text/io_tns.h"
#include "base/facts.h"
#include "base/json.h"
#include "session/output_guard.h"
#include "state/state_file.h"
#include "base/mem.h"
#include "base/system_memory.h"
#include "formats/completion_file.h"
#include "hdf5/hdf5_file.h"
#include "hdf5/hdf5_probe.h"
#include "formats/result_file.h"
#include "base/sort.h"
#include "formats/tensor_file.h"
#include "load/dense_source.h"
#include "base/timer.h"

/* Facts of the conversion. */
typedef struct record {
  uint64_t input_bytes;   /* 0: unknown (standard input) */
  amped_file_stamp input; /* stamp of a file that can be read again */
  uint64_t duplicates;
  uint64_t zeros; /* stored zeros, dropped or kept */
  uint64_t nnz;
  uint64_t hash;
  double norm;
  amped_facts facts; /* steps that are done, for --json */
} record;

static bool is_standard(const char *path) {
  return strcmp(path, "-") == 0;
}

/* The input's name in messages. */
static const char *input_name(const amped_options *o) {
  return amped_io_name(o->args[0]);
}

/* Are zeros dropped? Always for a dense output, in which a cell of 0 and a missing cell are the
 * same. */
static bool drops_zeros(const amped_options *o) {
  return o->convert.drop_zeros || o->session.cells.made;
}

static const char *plural(uint64_t n) {
  return n == 1 ? "" : "s";
}

static amped_status check_names(const amped_options *o) {
  const char *out = o->args[1];
  AMPED_TRY(amped_input_files_check_apart(o, out, NULL));
  if (is_standard(out) && o->json != NULL && is_standard(o->json))
    return amped_error(AMPED_USAGE, NULL,
                       "the tensor and --json=- would mix on standard output; name a file for one");
  return AMPED_OK;
}

static amped_status check_output(const amped_options *o, amped_format *format, amped_output *found,
                                 amped_file_lock *lock) {
  const char *path = o->args[1];
  AMPED_TRY(amped_io_format(path, format));
  if (*format == AMPED_FORMAT_NPY && !o->session.cells.made)
    return amped_error(AMPED_USAGE, path,
                       "is for dense tensors; give --dense, or name OUT.h5, .tns or .csv");
  if (is_standard(path)) {
    amped_log_to_stderr();
    return AMPED_OK;
  }
  /* Refuse the file now, not after hours of reading. */
  AMPED_TRY(amped_file_check_writable(path));
  AMPED_TRY(amped_output_look(
      path, *format == AMPED_FORMAT_HDF5 ? AMPED_OUTPUT_TENSOR : AMPED_OUTPUT_PLAIN, o->overwrite,
      found));
  return amped_file_lock_take(path, lock);
}

/* Refuse --copies=none for text: the option would have no effect. */
static amped_status check_copies(const amped_options *o, amped_format format) {
  if (o->convert.no_copies && format != AMPED_FORMAT_HDF5)
    return amped_error(AMPED_USAGE, o->args[1],
                       "is not an .h5 file, and other formats have no copies; leave out --copies");
  return AMPED_OK;
}

static void input_facts(const amped_options *o, const amped_sptensor *t, uint64_t nnz, double sec,
                        record *r) {
  amped_facts *f = &r->facts;
  char dims[AMPED_DIMS_TEXT];
  char text[128];
  const double least = sec > 0.0 ? sec : 1e-9;
  amped_fact(f, "input", amped_json_string(o->args[0]), "read %s: %s", input_name(o),
             amped_format_dims(dims, t->order, t->dims));
  amped_fact(f, "nnz_read", amped_json_count(nnz), ", %" PRIu64 " nonzeros\n", nnz);
  for (int m = 0; m < t->order; m++)
    if (t->labels[m].count > 0)
      amped_fact_words(f, "  mode %d: %" PRIu64 " labels%s%s\n", m + 1, t->labels[m].count,
                       t->labels[m].name != NULL ? " of " : "",
                       amped_format_name(text, sizeof text, &t->labels[m]));
  amped_fact(f, "input_bytes", amped_json_count(r->input_bytes), "  %s",
             r->input_bytes > 0 ? amped_format_bytes(text, r->input_bytes) : "");
  amped_fact(f, "read_sec", amped_json_number(sec), "%sin %.2f s: ", r->input_bytes > 0 ? " " : "",
             sec);
  if (r->input_bytes > 0)
    amped_fact_words(f, "%.1f MB/s, ", (double)r->input_bytes / least * 1e-6);
  amped_fact_words(f, "%s nonzeros/s\n", amped_format_count(text, (double)nnz / least));
}

/* Can the input be read again? */
static bool is_file(const char *path) {
  struct stat st;
  return !is_standard(path) && stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

static amped_file_stamp stamp_of(const char *path) {
  int fd = is_file(path) ? open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC) : -1;
  const amped_file_stamp stamp = amped_file_stamp_take(fd);
  if (fd >= 0)
    (void)close(fd);
  return stamp;
}

/* Refuse a rule for repeated coordinates that comes too late: another one has made them one. */
static amped_status check_rule(const amped_options *o, amped_duplicates before) {
  const amped_duplicates policy = o->read.duplicates;
  if (!amped_duplicates_merge(before) || !amped_duplicates_merge(policy) || policy == before)
    return AMPED_OK;
  return amped_error(
      AMPED_BAD_INPUT, input_name(o),
      "its repeated coordinates are one already, by --duplicates=%s, which "
      "--duplicates=%s cannot undo; leave the option out, or convert the first input "
      "again",
      amped_duplicates_name(before), amped_duplicates_policy_name(policy));
}

static amped_status read_input(const amped_options *o, const amped_external_sort *x,
                               amped_sptensor *t, record *r) {
  const char *path = o->args[0];
  amped_read_options how = o->read;
  uint64_t not_finite = 0;
  double began = amped_time();
  how.overflow = amped_external_sort_overflow(x);
  if (!is_standard(path))
    AMPED_TRY(amped_file_check_readable(path, &r->input_bytes));
  r->input = stamp_of(path);
  AMPED_TRY(o->convert.sparse ? amped_convert_read_dense(o, how.overflow, t, &not_finite)
                              : amped_io_read(path, &how, t));
  AMPED_TRY(check_rule(o, t->duplicates));
  input_facts(o, t, t->nnz + amped_external_sort_tell(x).nnz_read, amped_time() - began, r);
  if (o->convert.sparse)
    amped_fact_json(&r->facts, "not_finite", amped_json_count(not_finite));
  return AMPED_OK;
}

/* New index of each label, by mode; NULL: the mode keeps its order. */
typedef struct numbering {
  uint64_t *places[AMPED_MAX_ORDER];
} numbering;

static void renumber(const void *context, amped_sptensor *t) {
  const numbering *n = context;
  for (int m = 0; m < t->order; m++) {
    const uint64_t *place = n->places[m];
    uint64_t *indices = t->indices[m];
    if (place == NULL)
      continue;
#pragma omp parallel for schedule(static)
    for (uint64_t k = 0; k < t->nnz; k++)
      indices[k] = place[indices[k]];
  }
}

static void free_numbering(numbering *n) {
  for (int m = 0; m < AMPED_MAX_ORDER; m++)
    amped_free(n->places[m]);
}

/* Sort labels (--label-order=sorted). A mode without labels is ordered by index anyway. */
static amped_status sort_labels(const amped_options *o, amped_external_sort *x, amped_sptensor *t) {
  static const char *const kinds[] = {"texts", "numbers", "dates", "times"};
  numbering n = {{NULL}};
  char where[128];
  amped_status status = AMPED_OK;
  for (int m = 0; m < t->order; m++) {
    amped_labels *labels = &t->labels[m];
    if (labels->count == 0)
      continue;
    AMPED_GO(done, amped_alloc(&n.places[m], labels->count, sizeof **n.places, "labels"));
    (void)amped_format_mode(where, sizeof where, m, labels);
    AMPED_GO(done, amped_label_order_warn(labels, where, ""));
    if (amped_label_order_hides_dates(labels))
      amped_warn("%s: labels of %s are not numbers, dates or times: they come in alphabetical "
                 "order, which may not be the order of time; write them as 2024-01, 2024-Q1 or "
                 "2024-01-31",
                 input_name(o), where);
    AMPED_GO(done, amped_label_sort(labels, n.places[m]));
    const char *form = amped_label_form_of(labels);
    amped_say("%s: labels sorted as %s%s%s%s", where, kinds[amped_label_kind_of(labels)],
              form != NULL ? " (" : "", form != NULL ? form : "", form != NULL ? ")" : "");
  }
  renumber(&n, t);
  status = amped_external_sort_change(x, t->dims, renumber, &n);
done:
  free_numbering(&n);
  return status;
}

/* Does every row of a table count 1? Then equal rows are counted. */
static bool counts_rows(const amped_options *o) {
  amped_format format = AMPED_FORMAT_HDF5;
  return amped_io_input_format(o->args[0], &o->read, &format) == AMPED_OK &&
         format == AMPED_FORMAT_TABLE && o->read.value == NULL;
}

static void duplicates_facts(const amped_options *o, record *r) {
  const amped_duplicates policy = amped_read_duplicates(&o->read);
  const bool sum = policy == AMPED_DUPLICATES_SUM;
  amped_fact_json(&r->facts, "duplicates", amped_json_count(r->duplicates));
  if (r->duplicates == 0)
    return;
  if (sum && counts_rows(o))
    amped_say("%s: %" PRIu64 " rows repeat earlier rows and are added to their counts",
              input_name(o), r->duplicates);
  else
    amped_warn("%s: %" PRIu64 " duplicate%s of coordinates; %s%s", input_name(o), r->duplicates,
               plural(r->duplicates), amped_duplicates_deed(policy),
               sum ? " (--duplicates=error names the first; mean or last suits ratings)" : "");
}

/* Report r->zeros zeros, dropped or kept. Fails if no nonzero is left. */
static amped_status zeros_facts(const amped_options *o, record *r) {
  amped_fact_json(&r->facts, drops_zeros(o) ? "zeros_dropped" : "zeros_kept",
                  amped_json_count(r->zeros));
  if (r->zeros > 0 && o->convert.missing != AMPED_MISSING_KEEP && !drops_zeros(o))
    amped_warn("%s: %" PRIu64 " stored value%s zero and kept; --drop-zeros leaves zeros out",
               input_name(o), r->zeros, r->zeros == 1 ? " is" : "s are");
  else if (r->zeros > 0 && drops_zeros(o))
    amped_say("dropped %" PRIu64 " zero%s", r->zeros, plural(r->zeros));
  if (r->nnz == 0)
    return amped_error(AMPED_BAD_INPUT, input_name(o),
                       "all values are zero, nothing remains; %scorrect the values",
                       o->convert.drop_zeros ? "leave out --drop-zeros or " : "");
  return AMPED_OK;
}

/* Count the different indices of a mode, in a sorted copy. */
static amped_status count_used(const amped_sptensor *t, int mode, uint64_t *used) {
  uint64_t *copy = NULL;
  AMPED_TRY(amped_alloc(&copy, t->nnz, sizeof *copy, "counting empty slices"));
  memcpy(copy, t->indices[mode], t->nnz * sizeof *copy);
  amped_sort_field field = {copy, amped_sort_bits(copy, t->nnz)};
  void *array = copy;
  amped_status status = amped_sort(t->nnz, &field, 1, 0, &array, 1);
  uint64_t n = 1;
  for (uint64_t k = 1; k < t->nnz; k++)
    n += copy[k] != copy[k - 1];
  *used = n;
  amped_free(copy);
  return status;
}

static void say_empty(const amped_sptensor *t, int mode, uint64_t used) {
  char where[128];
  amped_say_verbose("%s: %" PRIu64 " of %" PRIu64 " indices have no nonzero",
                    amped_format_mode(where, sizeof where, mode, &t->labels[mode]),
                    t->dims[mode] - used, t->dims[mode]);
}

static amped_status say_empty_slices(const amped_sptensor *t) {
  for (int m = 0; m < t->order && amped_log_is_verbose(); m++) {
    uint64_t used = 0;
    AMPED_TRY(count_used(t, m, &used));
    say_empty(t, m, used);
  }
  return AMPED_OK;
}

static amped_status add_to_compaction(void *context, const amped_sptensor *t) {
  return amped_compaction_add(context, t);
}

static void apply_compaction(const void *context, amped_sptensor *t) {
  amped_compaction_apply(context, t);
}

/* Leave out indices without nonzeros (--compact). The nonzeros are ordered already, and stay so. */
static amped_status compact(amped_external_sort *x, amped_sptensor *t) {
  const bool on_disk = amped_external_sort_used(x);
  uint64_t dims[AMPED_MAX_ORDER];
  amped_compaction c = {.count = {0}};
  char where[128];
  amped_status status = AMPED_OK;
  memcpy(dims, t->dims, sizeof dims);
  AMPED_GO(done, on_disk ? amped_external_sort_look(x, add_to_compaction, &c)
                         : amped_compaction_add(&c, t));
  AMPED_GO(done, amped_compaction_labels(&c, t));
  for (int m = 0; m < t->order; m++)
    if (t->dims[m] < dims[m])
      amped_say("%s: %" PRIu64 " of %" PRIu64 " indices have no nonzero and are left out",
                amped_format_mode(where, sizeof where, m, &t->labels[m]), dims[m] - t->dims[m],
                dims[m]);
  if (on_disk)
    status = amped_external_sort_change(x, t->dims, apply_compaction, &c);
  else
    amped_compaction_apply(&c, t);
done:
  amped_compaction_free(&c);
  return status;
}

/* Refuse duplicates. The error names the coordinate of t's nonzero k, and two lines of a table that
 * have it. */
static amped_status refuse_duplicates(const amped_options *o, const amped_sptensor *t, uint64_t k,
                                      uint64_t count, const amped_file_stamp *input) {
  amped_format format = AMPED_FORMAT_TNS;
  uint64_t index[AMPED_MAX_ORDER];
  uint64_t lines[2] = {0, 0};
  for (int m = 0; m < t->order; m++)
    index[m] = t->indices[m][k];
  AMPED_TRY(amped_io_input_format(o->args[0], &o->read, &format));
  if (format == AMPED_FORMAT_TABLE && is_file(o->args[0])) {
    AMPED_TRY(amped_table_lines(o->args[0], &o->read, t, index, lines));
    const amped_file_stamp now = stamp_of(o->args[0]);
    if (!amped_file_stamp_same(&now, input))
      return amped_file_changed(o->args[0]);
  }
  return amped_sptensor_refuse_duplicates(t, k, count, lines[1] > 0 ? lines : NULL, input_name(o));
}

static amped_status order_in_memory(const amped_options *o, amped_sptensor *t, record *r) {
  const amped_duplicates policy = amped_read_duplicates(&o->read);
  uint64_t first = 0;
  AMPED_TRY(amped_sptensor_sort(t, 0));
  if (policy == AMPED_DUPLICATES_ERROR)
    r->duplicates = amped_sptensor_duplicates(t, &first);
  if (r->duplicates > 0)
    return refuse_duplicates(o, t, first, r->duplicates, &r->input);
  AMPED_TRY(amped_sptensor_merge(t, policy, input_name(o), &r->duplicates));
  t->duplicates = amped_duplicates_after(t->duplicates, policy, r->duplicates);
  if (drops_zeros(o))
    amped_sptensor_drop_zeros(t, &r->zeros);
  const amped_sptensor_facts facts = amped_sptensor_facts_of(t);
  r->zeros = drops_zeros(o) ? r->zeros : facts.zeros;
  r->nnz = t->nnz;
  r->hash = facts.hash;
  r->norm = sqrt(facts.norm_squared);
  return AMPED_OK;
}

/* Refuse duplicates of a coordinate that was found on disk. */
static amped_status refuse_coordinate(const amped_options *o, const amped_sptensor *t,
                                      const uint64_t *coordinate, const record *r) {
  amped_sptensor one = {.order = t->order, .nnz = 1};
  uint64_t index[AMPED_MAX_ORDER];
  memcpy(index, coordinate, sizeof index);
  memcpy(one.labels, t->labels, sizeof one.labels); /* borrowed */
  for (int m = 0; m < one.order; m++)
    one.indices[m] = &index[m];
  return refuse_duplicates(o, &one, 0, r->duplicates, &r->input);
}

static amped_status order_on_disk(const amped_options *o, amped_external_sort *x, amped_sptensor *t,
                                  record *r) {
  AMPED_TRY(amped_external_sort_order(x, t));
  amped_external_sort_found found = amped_external_sort_tell(x);
  r->duplicates = found.duplicates;
  if (found.refused != NULL)
    return refuse_coordinate(o, t, found.refused, r);
  r->zeros = found.zeros;
  r->nnz = found.info->nnz;
  r->hash = found.info->hash;
  r->norm = sqrt(found.info->norm_squared);
  return AMPED_OK;
}

static amped_status order_nonzeros(const amped_options *o, amped_external_sort *x,
                                   amped_sptensor *t, record *r) {
  double began = amped_time();
  if (o->convert.labels_sorted)
    AMPED_TRY(sort_labels(o, x, t));
  AMPED_TRY(amped_external_sort_used(x) ? order_on_disk(o, x, t, r) : order_in_memory(o, t, r));
  duplicates_facts(o, r);
  AMPED_TRY(zeros_facts(o, r));
  if (o->convert.compact)
    AMPED_TRY(compact(x, t));
  amped_fact_json(&r->facts, "order_sec", amped_json_number(amped_time() - began));
  amped_fact(&r->facts, "nnz", amped_json_count(r->nnz), "%" PRIu64 " nonzeros", r->nnz);
  amped_fact_json(&r->facts, "norm", amped_json_number(r->norm));
  if (isfinite(r->norm))
    amped_fact_words(&r->facts, ", norm %.10g\n", r->norm);
  else
    amped_fact_words(&r->facts, "\n"); /* the writer refuses it */
  return amped_external_sort_used(x) ? AMPED_OK : say_empty_slices(t);
}

/* Warn of left-out labels, and name the first labels of one mode that are not in order. */
static amped_status warn_of_labels(const char *path, int order, const amped_labels *labels) {
  char text[AMPED_LABEL_ORDER_TEXT] = "";
  bool any = false;
  for (int m = 0; m < order; m++) {
    any = any || labels[m].count > 0;
    if (text[0] == '\0' && !amped_labels_number_indices(&labels[m]))
      AMPED_TRY(amped_label_order_text(&labels[m], text));
  }
  if (any)
    amped_warn("%s: labels are left out; a table (OUT.csv) holds them%s",
               is_standard(path) ? "standard output" : path, text);
  return AMPED_OK;
}

/* The user's indices of a mode, from 0: labels that --compact kept. */
static amped_status find_ids(const char *path, const amped_labels *labels, uint64_t *ids,
                             uint64_t *dim) {
  char digits[AMPED_LABEL_DIGITS];
  char number[AMPED_LABEL_DIGITS];
  const char *text = NULL;
  *dim = 0;
  for (uint64_t i = 0; i < labels->count; i++) {
    const uint64_t length = amped_label_as_counted(labels, i, true, digits, &text);
    (void)snprintf(number, sizeof number, "%.*s", (int)length, text);
    const char *end = amped_number_u64(number, &ids[i]);
    if (end == NULL || *end != '\0' || ids[i] == UINT64_MAX)
      return amped_error(AMPED_BAD_INPUT, path, "label %s is no index that --compact kept", number);
    *dim = ids[i] >= *dim ? ids[i] + 1 : *dim;
  }
  return AMPED_OK;
}

/* Text of numbers holds the user's indices that --compact kept as labels: its readers match by
 * them. */
static amped_status restore_ids(const char *path, amped_external_sort *x, amped_sptensor *t) {
  numbering n = {{NULL}};
  amped_status status = AMPED_OK;
  bool any = false;
  for (int m = 0; m < t->order; m++) {
    amped_labels *labels = &t->labels[m];
    if (labels->count == 0 || !labels->are_indices)
      continue;
    AMPED_GO(done, amped_alloc(&n.places[m], labels->count, sizeof **n.places, "labels"));
    AMPED_GO(done, find_ids(path, labels, n.places[m], &t->dims[m]));
    amped_labels_free(labels);
    any = true;
  }
  if (!any)
    goto done;
  renumber(&n, t);
  status = amped_external_sort_change(x, t->dims, renumber, &n);
done:
  free_numbering(&n);
  return status;
}

/* A table has the indices of its rows alone. */
static void warn_left_out(const char *path, const amped_sptensor *t, int mode, uint64_t used) {
  char where[128];
  if (used < t->dims[mode])
    amped_warn("%s: %" PRIu64 " of %" PRIu64
               " indices of %s have no entry, so the table does not have them; OUT.h5 keeps them",
               is_standard(path) ? "standard output" : path, t->dims[mode] - used, t->dims[mode],
               amped_format_mode(where, sizeof where, mode, &t->labels[mode]));
}

static amped_status tell_left_out(const char *path, const amped_sptensor *t) {
  for (int m = 0; m < t->order && t->nnz > 0; m++) {
    uint64_t used = 0;
    AMPED_TRY(count_used(t, m, &used));
    warn_left_out(path, t, m, used);
  }
  return AMPED_OK;
}

/* The same for nonzeros on disk. */
static amped_status tell_left_out_on_disk(const char *path, const amped_external_sort *x,
                                          const amped_sptensor *t) {
  amped_compaction c = {.count = {0}};
  amped_status status = amped_external_sort_look(x, add_to_compaction, &c);
  for (int m = 0; m < t->order && status == AMPED_OK; m++)
    warn_left_out(path, t, m, c.count[m]);
  amped_compaction_free(&c);
  return status;
}

static amped_status write_from_disk(amped_external_sort *x, const amped_sptensor *t) {
  uint64_t used[AMPED_MAX_ORDER] = {0};
  AMPED_TRY(amped_external_sort_write(x, t->labels, used));
  for (int m = 0; m < t->order; m++)
    if (used[m] > 0)
      say_empty(t, m, used[m]);
  return AMPED_OK;
}

static amped_status write_tensor(const amped_options *o, amped_format format,
                                 amped_external_sort *x, amped_sptensor *t, amped_facts *f) {
  const char *path = o->args[1];
  if (format == AMPED_FORMAT_TNS) {
    if (!o->convert.compact)
      AMPED_TRY(restore_ids(o->args[0], x, t));
    AMPED_TRY(warn_of_labels(path, t->order, t->labels));
  }
  if (o->session.cells.made) {
    amped_dense_info cells;
    AMPED_TRY(amped_convert_write_cells(o, x, t, &cells));
    amped_fact_json(f, "cells", amped_json_count(cells.cells));
    amped_fact_json(f, "cell_type", json_string(amped_cell_name(cells.type)));
    if (amped_external_sort_used(x) || t->nnz < cells.cells)
      amped_say("%s: cells that %s does not have are 0 there, not missing", path, o->args[0]);
    return AMPED_OK;
  }
  if (format == AMPED_FORMAT_TABLE && !o->convert.compact) /* --compact has named them */
    AMPED_TRY(amped_external_sort_used(x) ? tell_left_out_on_disk(path, x, t)
                                          : tell_left_out(path, t));
  if (amped_external_sort_used(x))
    return write_from_disk(x, t);
  if (format == AMPED_FORMAT_HDF5)
    return amped_tensor_file_write(path, t, !o->convert.no_copies);
  if (format == AMPED_FORMAT_TABLE)
    return amped_table_write_tensor(path, t);
  return amped_tns_write(path, t, false);
}

static amped_status write_output(const amped_options *o, amped_format format,
                                 amped_external_sort *x, amped_sptensor *t, record *r) {
  const char *path = o->args[1];
  struct stat st;
  char bytes[32] = "";
  char rate[32];
  const double began = amped_time();
  AMPED_TRY(write_tensor(o, format, x, t, &r->facts));
  const double sec = amped_time() - began;
  if (!is_standard(path) && stat(path, &st) == 0 && S_ISREG(st.st_mode))
    amped_format_bytes(bytes, (uint64_t)st.st_size);
  amped_fact(&r->facts, "output", amped_json_string(path), "wrote %s: %s%s",
             is_standard(path) ? "standard output" : path, bytes, *bytes != '\0' ? " " : "");
  amped_fact(&r->facts, "write_sec", amped_json_number(sec), "in %.2f s, %s nonzeros/s\n", sec,
             amped_format_count(rate, (double)r->nnz / (sec > 0.0 ? sec : 1e-9)));
  return AMPED_OK;
}

static uint64_t peak_bytes(void) {
  struct rusage usage;
  if (getrusage(RUSAGE_SELF, &usage) != 0)
    return 0;
  return (uint64_t)usage.ru_maxrss * 1024;
}

/* Bytes of memory for sorting: --memory, or three quarters of the free memory. No bound if the free
 * memory is not known. */
static uint64_t memory_of(const amped_options *o) {
  uint64_t available = amped_mem_available();
  if (o->convert.memory > 0)
    return o->convert.memory;
  if (available == 0)
    return UINT64_MAX;
  return available / 4 * 3 > AMPED_LEAST_MEMORY ? available / 4 * 3 : AMPED_LEAST_MEMORY;
}

static amped_status convert_steps(const amped_options *o, amped_format format,
                                  const amped_output *found, amped_external_sort *x,
                                  amped_sptensor *t, record *r) {
  amped_facts *f = &r->facts;
  char text[32];
  AMPED_TRY(read_input(o, x, t, r));
  AMPED_TRY(order_nonzeros(o, x, t, r));
  const amped_output_shape shape = {.order = t->order, .dims = t->dims, .labels = t->labels};
  AMPED_TRY(amped_output_compare_tensor(found, r->hash, &shape));
  AMPED_TRY(write_output(o, format, x, t, r));
  const uint64_t disk = amped_external_sort_tell(x).temporary_bytes;
  const uint64_t peak = peak_bytes();
  amped_fact_json(f, "temporary_bytes", amped_json_count(disk));
  if (disk > 0)
    amped_say_verbose("temporary files took %s", amped_format_bytes(text, disk));
  amped_fact_json(f, "peak_memory_bytes", amped_json_count(peak));
  amped_say_verbose("peak memory %s", amped_format_bytes(text, peak));
  amped_fact_json(f, "order", json_integer(t->order));
  amped_fact_json(f, "dims", amped_json_counts(t->dims, t->order));
  for (int m = 0; m < t->order; m++)
    amped_fact_item(f, "mode_names", amped_json_mode_name(&t->labels[m]));
  return AMPED_OK;
}

/* How lists are sorted that do not fit in memory. If the output is dense, this command writes it,
 * not the sort. */
static amped_external_sort_spec sort_spec(const amped_options *o, amped_format format,
                                          const char *folder) {
  const bool writes = !o->session.cells.made && !is_standard(o->args[1]);
  return (amped_external_sort_spec){.input = input_name(o),
                                    .output = writes ? o->args[1] : NULL,
                                    .format = o->session.cells.made ? AMPED_FORMAT_TNS : format,
                                    .copies = !o->convert.no_copies && !o->session.cells.made,
                                    .temporary = folder,
                                    .memory = memory_of(o),
                                    .duplicates = amped_read_duplicates(&o->read),
                                    .drop_zeros = drops_zeros(o)};
}

/* Refuse a missing folder now, not after hours of reading. */
static amped_status check_folder(const char *path) {
  struct stat st;
  return stat(path, &st) == 0 && S_ISDIR(st.st_mode)
             ? AMPED_OK
             : amped_error(AMPED_FAILED, path, "is no folder; name another with --temporary");
}

static amped_status convert_tensor(const amped_options *o, amped_format format,
                                   const amped_output *found, amped_json *json) {
  char *folder = NULL;
  amped_sptensor t = {.order = 0};
  amped_external_sort *x = NULL;
  record r = {.input_bytes = 0};
  amped_status status = AMPED_OK;
  if (o->convert.temporary != NULL) {
    AMPED_TRY(check_folder(o->convert.temporary));
    AMPED_TRY(amped_strdup(&folder, o->convert.temporary));
  } else if (o->session.cells.made) {
    AMPED_TRY(amped_file_folder(o->args[1], &folder));
  }
  const amped_external_sort_spec spec = sort_spec(o, format, folder);
  AMPED_GO(done, amped_external_sort_create(&spec, &x));
  amped_facts_begin(&r.facts, "convert");
  status = amped_facts_end(&r.facts, json, convert_steps(o, format, found, x, &t, &r));
  amped_sptensor_free(&t);
done:
  amped_external_sort_free(x);
  amped_free(folder);
  return status;
}

/* Refuse options that have no effect on a result. */
static amped_status check_result_options(const amped_options *o) {
  AMPED_TRY(amped_option_rules_check(o, "result"));
  return amped_io_result_check(o->args[1]);
}

static amped_status tell_tables(const char *path) {
  char *weights = NULL;
  AMPED_TRY(amped_table_weights_name(path, &weights));
  amped_say("wrote the factors' entries to %s, the components' weights to %s", path, weights);
  amped_free(weights);
  return AMPED_OK;
}

/* Refuse the name of an output that an input or --json has, or a file that may not be replaced. */
static amped_status check_result_file(const amped_options *o, const amped_json *json,
                                      const char *name) {
  amped_output found;
  AMPED_TRY(amped_input_files_check_apart(o, name, NULL));
  AMPED_TRY(amped_json_apart(json, name));
  return amped_output_look(name, AMPED_OUTPUT_PLAIN, o->overwrite, &found);
}

/* Check the output files: a table of the factors and one of the weights, or a file for each
 * array. */
static amped_status check_result_files(const amped_options *o, const amped_json *json, int order,
                                       const amped_completion *c) {
  const bool is_table = amped_table_named(o->args[1]);
  const int count = is_table ? 1 : amped_io_result_files(order, c);
  amped_status status = AMPED_OK;
  if (is_table)
    AMPED_TRY(check_result_file(o, json, o->args[1]));
  for (int i = 0; i < count && status == AMPED_OK; i++) {
    char *name = NULL;
    AMPED_TRY(is_table ? amped_table_weights_name(o->args[1], &name)
                       : amped_io_result_name(o->args[1], order, i, &name));
    status = check_result_file(o, json, name);
    amped_free(name);
  }
  return status;
}

static amped_status tell_files(const char *path, int order) {
  char *weights = NULL;
  char *first = NULL;
  char *last = NULL;
  amped_status status = AMPED_OK;
  AMPED_GO(out, amped_io_result_name(path, order, 0, &weights));
  AMPED_GO(out, amped_io_result_name(path, order, 1, &first));
  AMPED_GO(out, amped_io_result_name(path, order, order, &last));
  amped_say("wrote the weights to %s, the factors to %s ... %s", weights, first, last);
out:
  amped_free(weights);
  amped_free(first);
  amped_free(last);
  return status;
}

static amped_status convert_result(const amped_options *o, amped_json *json) {
  const char *in = o->args[0];
  const char *out = o->args[1];
  char dims[AMPED_DIMS_TEXT];
  amped_ktensor k = {.order = 0};
  amped_completion completion = {.order = 0};
  amped_facts f;
  amped_status status = AMPED_OK;
  amped_facts_begin(&f, "convert");
  AMPED_GO(out, amped_result_file_read(in, &k));
  AMPED_GO(out, amped_completion_file_read(in, k.order, k.dims, true, &completion));
  const amped_completion *c = completion.order > 0 ? &completion : NULL;
  AMPED_GO(out, amped_completion_fill(in, &completion, &k));
  if (c != NULL)
    amped_completion_unscale(&completion, &k);
  amped_fact_json(&f, "output", amped_json_string(out));
  amped_fact_json(&f, "order", json_integer(k.order));
  amped_fact(&f, "input", amped_json_string(in), "read %s: ", in);
  amped_fact(&f, "dims", amped_json_counts(k.dims, k.order), "%s, ",
             amped_format_dims(dims, k.order, k.dims));
  amped_fact(&f, "ncomps", json_integer(k.ncomps), "%d components\n", k.ncomps);
  AMPED_GO(out, check_result_files(o, json, k.order, c));
  AMPED_GO(out, amped_io_result_write(out, &k, c));
  if (!amped_table_named(out))
    AMPED_GO(out, warn_of_labels(out, k.order, k.labels));
  if (c != NULL)
    amped_say("a completion model: its mean%s added, all in the units of the values",
              c->biased ? " and biases are" : " is");
  AMPED_GO(out, amped_table_named(out) ? tell_tables(out) : tell_files(out, k.order));
out:
  amped_completion_free(&completion);
  amped_ktensor_free(&k);
  return amped_facts_end(&f, json, status);
}

/* Refuse a state, whatever its name. */
static amped_status refuse_state(const char *path) {
  bool is_state = false;
  if (!amped_hdf5_is(path))
    return AMPED_OK;
  AMPED_TRY(amped_state_file_is(path, &is_state));
  return is_state ? amped_error(AMPED_BAD_INPUT, path,
                                "is the state of a stream, not a tensor; amped_mpi stream %s -o "
                                "RESULT.h5 writes its model, which convert takes",
                                path)
                  : AMPED_OK;
}

/* Find out what the input is. The content of an HDF5 file decides. */
static amped_status find_input(const amped_options *o, bool *is_dense, bool *is_result) {
  const char *in = o->args[0];
  amped_format format = AMPED_FORMAT_TNS;
  const bool is_hdf5 = o->read.format == AMPED_READ_AUTO && amped_io_is_hdf5(in);
  if (is_hdf5)
    AMPED_TRY(amped_hdf5_probe(in)); /* the only HDF5 file that is read */
  if (is_hdf5 && o->session.dataset == NULL)
    AMPED_TRY(amped_result_file_is(in, is_result));
  if (*is_result)
    return amped_result_file_check_model(in);
  AMPED_TRY(refuse_state(in));
  AMPED_TRY(amped_convert_is_dense(o, is_dense));
  return *is_dense ? AMPED_OK : amped_io_input_format(in, &o->read, &format);
}

static amped_status convert(const amped_options *o, bool is_dense, amped_format format,
                            const amped_output *found, amped_json *json) {
  return is_dense && o->session.cells.made ? amped_convert_copy_cells(o, found, json)
                                           : convert_tensor(o, format, found, json);
}

amped_status amped_cmd_convert(const amped_options *o) {
  amped_format out = AMPED_FORMAT_TNS;
  amped_json *json = NULL;
  amped_file_lock lock = {NULL, -1};
  amped_output found = {.compared = false};
  amped_status status = AMPED_OK;
  bool is_dense = false;
  bool is_result = false;
  if (o->threads > 0)
    omp_set_num_threads(o->threads);
  AMPED_TRY(check_names(o));
  AMPED_TRY(find_input(o, &is_dense, &is_result));
  AMPED_TRY(is_result ? check_result_options(o) : check_output(o, &out, &found, &lock));
  if (!is_result)
    AMPED_GO(done, check_copies(o, out));
  AMPED_GO(done, amped_output_json(o->json, o->overwrite, &json));
  status = amped_json_apart(json, o->args[1]);
  if (status == AMPED_OK)
    status = is_result ? convert_result(o, json) : convert(o, is_dense, out, &found, json);
  status = amped_json_close(json, status);
done:
  amped_file_lock_release(&lock);
  return status;
}
