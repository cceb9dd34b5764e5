/* predict: evaluates a model at given cells, and compares it with their values; or writes its
 * values at all cells. */
#include <math.h>
#include <omp.h>
#include <string.h>

#include "cli/cell_files.h"
#include "cli/commands.h"
#include "cli/label_errors.h"
#include "cli/model_mode.h"
#include "cli/predict_array.h"
#include "cli/prediction_errors.h"
#include "cli/result_argument.h"
#include "base/facts.h"
#include "base/file.h"
#include "base/file_lock.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/system_memory.h"
#include "formats/completion_file.h"
#include "hdf5/hdf5_probe.h"
#include "formats/result_file.h"
#include "load/dense_list.h"
#include "formats/tensor_file.h"
#include "session/output_guard.h"
#include "tensor/format.h"
#include "tensor/gap_summary.h"
#include "tensor/predictor.h"
#include "tensor/repeats.h"
#include "text/intern.h"
#include "text/io.h"
#include "text/io_number.h"
#include "text/io_table_write.h"
#include "text/io_tns.h"
#include "text/model_cells.h"

typedef struct job {
  const amped_options *o;
  amped_format out; /* format of the output */
  bool is_text;     /* cells are lines of numbers, with a value at the end */
  bool has_values;  /* the cells have values to compare with */
  amped_ktensor k;
  amped_completion c;
  amped_predictor p;
  amped_sptensor cells;           /* the cells; their values become the predictions */
  uint64_t *own[AMPED_MAX_ORDER]; /* indices as read; cells has the model's */
  uint64_t cold[AMPED_MAX_ORDER]; /* per mode, cells whose index the model does not know */
  uint64_t cold_cells;
  uint64_t parts; /* cells with values that repeat an earlier cell, of a model of sums */
  amped_prediction_errors all, cold_errors;
  bool lacks_all;  /* the model knows no cell's index of some modes, such as a new month */
  bool knows_none; /* lacks_all, of all modes at once */
  amped_prediction_errors others[2]; /* if lacks_all: cells with known indices in the other modes,
                                        and other cells */
  amped_label_errors by;             /* with --by */
} job;

static const char *name_of(const job *j) {
  return amped_io_name(j->o->args[1]);
}

/* Is every cell predicted, because no file names cells? */
static bool is_array(const job *j) {
  return j->o->nargs < 2;
}

/* ---- the cells ------------------------------------------------------------------------------ */

static amped_status find_values(job *j) {
  const char *observed = j->o->predict.observed;
  amped_format format = AMPED_FORMAT_TNS;
  if (is_array(j))
    return observed != NULL && amped_io_is_hdf5(observed) ? amped_hdf5_probe(observed) : AMPED_OK;
  if (amped_cell_files_is_state(j->o->args[1]))
    return amped_error(AMPED_BAD_INPUT, j->o->args[1],
                       "is the state of a stream, which does not keep its cells; name a table or a "
                       "tensor of the cells to predict");
  AMPED_TRY(amped_io_input_format(j->o->args[1], &j->o->read, &format));
  j->is_text = format == AMPED_FORMAT_TNS;
  j->has_values = format != AMPED_FORMAT_TABLE || j->o->read.value != NULL;
  if (j->o->output == NULL && !j->has_values)
    return amped_error(AMPED_USAGE, NULL,
                       "there is nothing to report: the cells have no values (--value=COLUMN), and "
                       "no output is named; add -o OUT.csv, or -o - for standard output");
  return format == AMPED_FORMAT_HDF5 ? amped_hdf5_probe(j->o->args[1]) : AMPED_OK;
}

static bool is_cold(const job *j, uint64_t i) {
  bool cold = false;
  for (int m = 0; m < j->cells.order; m++)
    cold = cold || j->cells.indices[m][i] == AMPED_PREDICTOR_COLD;
  return cold;
}

/* Refuse text without values: the reader took the last index of each line for a value. */
static amped_status refuse_no_values(const job *j) {
  return amped_error(
      AMPED_BAD_INPUT, name_of(j),
      "has %d numbers per line, but the model of %s has order %d: text needs %d indices and a "
      "value; add any value, or give a table (.csv) with only the keys",
      j->cells.order + 1, j->o->args[0], j->k.order, j->k.order);
}

/* Refuse the first cell that is not in the model. */
static amped_status refuse_cold(const job *j) {
  char label[256];
  char mode[128];
  uint64_t i = 0;
  int m = 0;
  while (!is_cold(j, i))
    i++;
  while (j->cells.indices[m][i] != AMPED_PREDICTOR_COLD)
    m++;
  return amped_error(
      AMPED_BAD_INPUT, name_of(j),
      "cell %" PRIu64 ": %s of %s is not in the model of %s (%" PRIu64
      " such cells); leave them out, or add --cold=predict",
      i + 1, amped_label_text(&j->cells.labels[m], j->own[m][i], label, sizeof label),
      amped_format_mode(mode, sizeof mode, m, &j->k.labels[m]), j->o->args[0], j->cold_cells);
}

/* Make indices cold of which the model learnt no entry. */
static void find_unknown(job *j) {
  for (int m = 0; m < j->cells.order; m++)
    for (uint64_t i = 0; i < j->cells.nnz; i++)
      j->cells.indices[m][i] = amped_predictor_known(&j->p, m, j->cells.indices[m][i]);
}

/* Does the model know no cell's index of the mode? */
static bool lacks(const job *j, int mode) {
  return j->cells.nnz > 0 && j->cold[mode] == j->cells.nnz;
}

/* Is a cell's index unknown in a mode of which the model knows some cells' indices? */
static bool is_cold_otherwise(const job *j, uint64_t i) {
  bool cold = false;
  for (int m = 0; m < j->cells.order; m++)
    cold = cold || (!lacks(j, m) && j->cells.indices[m][i] == AMPED_PREDICTOR_COLD);
  return cold;
}

static void count_cold(job *j) {
  int lacking = 0;
  memset(j->cold, 0, sizeof j->cold);
  j->cold_cells = 0;
  for (int m = 0; m < j->cells.order; m++)
    for (uint64_t i = 0; i < j->cells.nnz; i++)
      j->cold[m] += j->cells.indices[m][i] == AMPED_PREDICTOR_COLD;
  for (uint64_t i = 0; i < j->cells.nnz; i++)
    j->cold_cells += is_cold(j, i);
  for (int m = 0; m < j->cells.order; m++)
    lacking += lacks(j, m);
  j->knows_none = lacking == j->cells.order;
  j->lacks_all = lacking > 0 && !j->knows_none;
}

static amped_status check_values(const job *j) {
  for (uint64_t i = 0; i < j->cells.nnz && j->has_values; i++)
    if (!(fabs(j->cells.values[i]) <= AMPED_ERROR_MOST))
      return amped_error(AMPED_BAD_INPUT, name_of(j),
                         "cell %" PRIu64
                         " has the value %g, and the square of its error would overflow; remove "
                         "the cell, or scale all values to at most %g",
                         i + 1, j->cells.values[i], AMPED_ERROR_MOST);
  return AMPED_OK;
}

/* Read COORDS: a list, or the cells of a dense tensor that are not missing. */
static amped_status read_list(const job *j, const amped_read_options *read, amped_sptensor *t) {
  const char *path = j->o->args[1];
  const char *dataset = j->o->session.dataset;
  bool is_dense = false;
  if (read->format == AMPED_READ_AUTO)
    AMPED_TRY(amped_dense_source_is(path, dataset, &is_dense));
  if (!is_dense)
    return amped_io_read(path, read, t);
  AMPED_TRY(amped_io_check(path, AMPED_FORMAT_NPY, read));
  return amped_dense_list_load(path, dataset, NULL, NULL, t);
}

/* Count repeated cells, if the model was fitted to sums of such cells: their values are parts. */
static amped_status count_parts(job *j) {
  char rule[16];
  AMPED_TRY(amped_result_file_text(j->o->args[0], "duplicates", rule, sizeof rule));
  if (!j->has_values || amped_duplicates_named(rule) != AMPED_DUPLICATES_SUM)
    return AMPED_OK;
  return amped_sptensor_repeats(&j->cells, &j->parts);
}

static amped_status read_cells(job *j) {
  amped_sptensor *t = &j->cells;
  amped_read_options read = j->o->read;
  amped_read_options_know(&read, j->k.order, j->k.labels);
  AMPED_TRY(read_list(j, &read, t));
  if (j->is_text && t->order + 1 == j->k.order)
    return refuse_no_values(j);
  AMPED_TRY(check_values(j));
  AMPED_TRY(count_parts(j));
  /* The indices as read and the predictions take memory in addition to the cells. */
  AMPED_TRY(amped_mem_check(name_of(j), "its cells", t->nnz * 8 * ((uint64_t)t->order + 1)));
  for (int m = 0; m < t->order; m++) {
    AMPED_TRY(amped_alloc(&j->own[m], t->nnz, sizeof *j->own[m], "the cells' indices"));
    memcpy(j->own[m], t->indices[m], t->nnz * sizeof *j->own[m]);
  }
  AMPED_TRY(
      amped_model_cells_translate(j->o->args[0], &j->k, name_of(j), read.keys != NULL, NULL, t));
  count_cold(j);
  if (j->cold_cells > 0 && !j->o->predict.cold)
    return refuse_cold(j);
  find_unknown(j);
  count_cold(j);
  if (j->knows_none)
    amped_warn(
        "%s: %s knows no index of any of its cells, so that all predictions are alike; check "
        "that they belong together",
        name_of(j), j->o->args[0]);
  return AMPED_OK;
}

/* ---- the values ----------------------------------------------------------------------------- */

/* The errors of cell i's label of --by. */
static amped_prediction_errors *label_of(job *j, uint64_t i) {
  const uint64_t index = j->cells.indices[j->by.mode][i];
  return index == AMPED_PREDICTOR_COLD ? &j->by.unknown : &j->by.of[index];
}

/* Replace values by predictions, and add up the errors in the order of the cells. */
static amped_status predict(job *j) {
  amped_sptensor *t = &j->cells;
  double *values = NULL;
  amped_status status = AMPED_OK;
  AMPED_GO(done, amped_alloc(&values, t->nnz, sizeof *values, "the predictions"));
  amped_predictor_values(&j->p, t->indices, t->nnz, values);
  for (uint64_t i = 0; i < t->nnz; i++) {
    const double told = amped_clip(&j->o->clip, values[i]);
    if (j->has_values)
      amped_prediction_errors_add(&j->all, t->values[i] - values[i], t->values[i] - told);
    if (j->by.of != NULL)
      amped_prediction_errors_add(label_of(j, i), t->values[i] - values[i], t->values[i] - told);
    if (j->has_values && j->cold_cells > 0 && is_cold(j, i))
      amped_prediction_errors_add(&j->cold_errors, t->values[i] - values[i], t->values[i] - told);
    if (j->has_values && j->lacks_all)
      amped_prediction_errors_add(&j->others[is_cold_otherwise(j, i)], t->values[i] - values[i],
                                  t->values[i] - told);
    if (!isfinite(told)) {
      status = amped_error(AMPED_FAILED, j->o->args[0],
                           "cell %" PRIu64 ": the model's value is not finite; its factors are too "
                           "large",
                           i + 1);
      goto done;
    }
    t->values[i] = told;
  }
done:

  amped_free(values);
  return status;
}

/* ---- the output ----------------------------------------------------------------------------- */

/* Text of numbers holds the numbers of the model's indices. Labels of the cells have numbers of
 * their own, by their order in the file: these are no indices of the model. */
static amped_status check_numbers(const job *j) {
  char name[80];
  for (int m = 0; m < j->cells.order && j->out == AMPED_FORMAT_TNS; m++)
    if (j->cells.labels[m].count > 0 && (j->k.labels[m].count > 0 || j->cold[m] > 0))
      return amped_error(
          AMPED_USAGE, j->o->output,
          "%s of %s has labels, which text of numbers cannot hold; name a table, such "
          "as OUT.csv",
          amped_format_mode(name, sizeof name, m, &j->cells.labels[m]), name_of(j));
  return AMPED_OK;
}

/* Do the cells and the model both have indices in a mode, with or without some that --compact
 * removed? */
static bool has_indices(const job *j, int m) {
  const amped_labels *ours = &j->cells.labels[m];
  const amped_labels *known = &j->k.labels[m];
  return (ours->count == 0 || ours->are_indices) && (known->count == 0 || known->are_indices);
}

/* Give the cells of a mode without labels the model's labels, if some of its indices are not in the
 * model: such an index is called by its number, or "index N" if a label is that number. */
static amped_status name_cells(job *j, int m) {
  const amped_labels *known = &j->k.labels[m];
  amped_sptensor *t = &j->cells;
  amped_intern in = {0};
  amped_status status = AMPED_OK;
  for (uint64_t i = 0; i < known->count && status == AMPED_OK; i++) {
    uint64_t id = 0;
    uint64_t length = 0;
    const char *label = amped_label(known, i, &length);
    status = amped_intern_add(&in, amped_intern_hash(label, length), label, length, &id);
  }
  for (uint64_t i = 0; i < t->nnz && status == AMPED_OK; i++) {
    char text[48] = "index ";
    char *number = text + strlen(text);
    if (t->indices[m][i] < known->count)
      continue;
    const uint64_t digits = (uint64_t)amped_number_print_u64(
        number, amped_label_number(&t->labels[m], t->indices[m][i]));
    const uint64_t id = amped_intern_find(&in, amped_intern_hash(number, digits), number, digits);
    const char *name = id < known->count ? text : number;
    const uint64_t length = digits + (uint64_t)(number - name);
    status =
        amped_intern_add(&in, amped_intern_hash(name, length), name, length, &t->indices[m][i]);
  }
  AMPED_NEXT(status, amped_intern_take(&in, &t->labels[m]));
  t->dims[m] = t->labels[m].count;
  amped_intern_free(&in);
  return status;
}

/* Restore the cells as they were read. A mode without labels gets the model's, if they are not just
 * numbers; in text, if the model has all its indices. In text, labels that are indices are indices.
 * Indices count as the model's do: a table does not say how they count, and the model reads it. */
static amped_status dress_cells(job *j) {
  amped_sptensor *t = &j->cells;
  AMPED_TRY(check_numbers(j));
  for (int m = 0; m < t->order; m++) {
    if (j->out == AMPED_FORMAT_TNS && t->labels[m].count > 0) {
      amped_labels_free(&t->labels[m]);
      t->labels[m].from_zero = j->k.labels[m].from_zero;
      t->dims[m] = j->k.dims[m];
      continue;
    }
    uint64_t *translated = t->indices[m];
    t->indices[m] = j->own[m];
    j->own[m] = translated;
    if (t->labels[m].name == NULL && j->k.labels[m].name != NULL)
      AMPED_TRY(amped_strdup(&t->labels[m].name, j->k.labels[m].name));
    if (has_indices(j, m))
      AMPED_TRY(amped_labels_count_from(&t->labels[m], j->k.labels[m].from_zero));
    if (t->labels[m].count > 0 || j->k.labels[m].are_indices)
      continue;
    if (j->cold[m] == 0) {
      AMPED_TRY(amped_labels_copy(&j->k.labels[m], &t->labels[m]));
      t->dims[m] = j->k.dims[m];
    } else if (j->k.labels[m].count > 0 && j->out != AMPED_FORMAT_TNS)
      AMPED_TRY(name_cells(j, m));
  }
  return AMPED_OK;
}

static bool has_labels(const amped_sptensor *t) {
  bool any = false;
  for (int m = 0; m < t->order; m++)
    any = any || t->labels[m].count > 0;
  return any;
}

static bool is_standard(const char *path) {
  return strcmp(path, "-") == 0;
}

static amped_status write_output(job *j, const amped_output *found) {
  const char *path = j->o->output;
  if (j->by.of != NULL) {
    AMPED_TRY(amped_label_errors_write(&j->by, path));
    amped_say("wrote the errors of %" PRIu64 " labels to %s", j->by.found,
              is_standard(path) ? "standard output" : path);
    return AMPED_OK;
  }
  AMPED_TRY(dress_cells(j));
  if (j->out == AMPED_FORMAT_TNS && has_labels(&j->cells))
    amped_warn("%s: labels are left out; a table (OUT.csv) holds them", path);
  if (j->out == AMPED_FORMAT_HDF5) {
    const amped_output_shape shape = {
        .order = j->cells.order, .dims = j->cells.dims, .labels = j->cells.labels};
    AMPED_TRY(amped_output_compare_tensor(found, amped_sptensor_hash(&j->cells), &shape));
    AMPED_TRY(amped_sptensor_sort(&j->cells, 0));
    if (!amped_duplicates_merge(j->cells.duplicates) && !amped_sptensor_may_repeat(&j->cells))
      j->cells.duplicates = AMPED_DUPLICATES_NONE;
    AMPED_TRY(amped_tensor_file_write(path, &j->cells, true));
  } else
    AMPED_TRY(j->out == AMPED_FORMAT_TNS
                  ? amped_tns_write(path, &j->cells, j->cells.labels[0].from_zero)
                  : amped_table_write_tensor(path, &j->cells));
  amped_say("wrote %" PRIu64 " value%s to %s", j->cells.nnz, j->cells.nnz == 1 ? "" : "s",
            is_standard(path) ? "standard output" : path);
  return AMPED_OK;
}

/* ---- the report ----------------------------------------------------------------------------- */

/* The largest expected error of gaps at the indices of a cell; *mode: where. 0: none is known. */
static double gap_rmse(const job *j, uint64_t i, int *mode) {
  double most = 0.0;
  for (int m = 0; m < j->cells.order; m++) {
    const uint64_t index = j->cells.indices[m][i];
    const double *rmse = j->c.gap_rmse[m];
    if (rmse == NULL || index == AMPED_PREDICTOR_COLD || !(rmse[index] > most))
      continue;
    most = rmse[index];
    *mode = m;
  }
  return most;
}

/* Warn of cells at indices whose gaps the model does not know, and count them in JSON. */
static void gaps_facts(const job *j, amped_facts *f) {
  const double reported = amped_gap_summary_reported(&j->c);
  uint64_t count = 0;
  double most = 0.0;
  uint64_t worst = 0;
  int worst_mode = 0;
  char name[128];
  char label[128];
  for (uint64_t i = 0; i < j->cells.nnz; i++) {
    int mode = 0;
    const double rmse = gap_rmse(j, i, &mode);
    count += rmse > reported;
    if (!(rmse > most))
      continue;
    most = rmse;
    worst_mode = mode;
    worst = j->cells.indices[mode][i];
  }
  amped_fact_json(f, "unsure", amped_json_count(count));
  if (count == 0)
    return;
  amped_warn("%s: %" PRIu64 " of %" PRIu64
             " cells have an index whose known cells do not determine its gaps; %s at %s: expect "
             "rmse %.4g in a gap, not %.4g",
             name_of(j), count, j->cells.nnz,
             amped_format_mode(name, sizeof name, worst_mode, &j->k.labels[worst_mode]),
             amped_label_text(&j->k.labels[worst_mode], worst, label, sizeof label), most,
             reported);
}

/* Compute no errors for a model of --implicit: it has 1 for events, so its distance from counts is
 * not an error. */
static void refuse_counts(job *j) {
  if (j->has_values && j->c.implicit > 0.0)
    amped_note(
        "%s is a model of --implicit, whose values are 1 for what happened and 0 for what did not: "
        "no error is reported against the counts of %s; rank with amped_mpi recommend",
        j->o->args[0], name_of(j));
  j->has_values = j->has_values && !(j->c.implicit > 0.0);
}

/* Errors of cells that all have an unknown index of one mode, such as a new month: apart by their
 * other indices. */
static void others_facts(const job *j, amped_facts *f) {
  static const char *const counts[] = {"known_otherwise", "cold_otherwise"};
  static const char *const errors[] = {"rmse_known_otherwise", "rmse_cold_otherwise"};
  static const char *const what[] = {"whose other indices the model knows",
                                     "with another index that it does not know"};
  for (int k = 0; k < 2; k++) {
    const amped_prediction_errors *e = &j->others[k];
    const double rmse = amped_prediction_errors_rmse(e);
    amped_fact_json(f, counts[k], amped_json_count(e->count));
    amped_fact_json(f, errors[k], amped_json_number(rmse));
    if (e->count > 0)
      amped_fact_words(f, "rmse of %" PRIu64 " cells %s %.9g\n", e->count, what[k], rmse);
  }
}

static void cells_facts(const job *j, amped_facts *f) {
  const amped_count_words words = {.first = "", .next = "", .unnamed = " index of"};
  const double cold = amped_prediction_errors_rmse(&j->cold_errors);
  const uint64_t n = j->cells.nnz;
  char text[AMPED_COUNTS_TEXT];
  amped_fact(f, "cells", amped_json_count(n), "%" PRIu64 " cell%s of %s\n", n, n == 1 ? "" : "s",
             name_of(j));
  amped_fact_json(f, "parts", amped_json_count(j->parts));
  if (j->parts > 0)
    amped_warn("%" PRIu64 " of %" PRIu64 " cells of %s repeat an earlier cell: %s was fitted to "
               "sums of such rows, and a row alone is a part of a sum, so that these errors mean "
               "little; add the rows up first: amped_mpi convert %s OUT.csv",
               j->parts, n, name_of(j), j->o->args[0], name_of(j));
  amped_fact_json(f, "cold", amped_json_count(j->cold_cells));
  gaps_facts(j, f);
  amped_fact_json(f, "cold_of", amped_json_counts(j->cold, j->k.order));
  if (j->cold_cells > 0)
    amped_fact_words(
        f, "%" PRIu64 " of these cells have an index that the model does not know: %s\n",
        j->cold_cells, amped_format_counts(text, j->k.order, j->k.labels, j->cold, &words));
  amped_prediction_errors_facts(&j->all, j->has_values, j->o->clip.given, f);
  if (j->has_values && j->lacks_all) {
    amped_fact_json(f, "rmse_cold", amped_json_number(cold));
    others_facts(j, f);
  } else
    amped_prediction_error_fact("rmse_cold",
                                "rmse of cells with an index that the model does not know",
                                j->has_values && j->cold_cells > 0, cold, f);
}

/* ---- errors by label ------------------------------------------------------------------------ */

/* Begin the errors of each label of --by, if it is given. */
static amped_status begin_labels(job *j) {
  const char *model = j->o->args[0];
  const amped_model_mode named = {.path = model, .k = &j->k, .option = "--by"};
  int mode = 0;
  if (j->o->predict.by == NULL)
    return AMPED_OK;
  AMPED_TRY(amped_model_mode_find(&named, j->o->predict.by, &mode));
  if (!j->has_values)
    return amped_error(AMPED_USAGE, NULL,
                       "--by: the cells have no values to compare with%s; give cells with values "
                       "(--value=COLUMN)",
                       j->c.implicit > 0.0 ? " (the model is of --implicit)" : "");
  return amped_label_errors_create(&j->k.labels[mode], mode, j->k.dims[mode], &j->by);
}

static amped_status labels_facts(job *j, amped_facts *f) {
  if (j->by.of == NULL)
    return AMPED_OK;
  AMPED_TRY(amped_label_errors_sort(&j->by));
  amped_label_errors_facts(&j->by, (uint64_t)j->o->top, f);
  return AMPED_OK;
}

/* ---- the command ---------------------------------------------------------------------------- */

static amped_status steps(job *j, amped_facts *f) {
  const char *model = j->o->args[0];
  amped_output found = {.compared = false};
  if (j->o->output != NULL && !is_standard(j->o->output))
    AMPED_TRY(amped_output_look(
        j->o->output, j->out == AMPED_FORMAT_HDF5 ? AMPED_OUTPUT_TENSOR : AMPED_OUTPUT_PLAIN,
        j->o->overwrite, &found));
  AMPED_TRY(amped_result_argument_read("predict", model, &j->k));
  AMPED_TRY(amped_completion_file_read(model, j->k.order, j->k.dims, true, &j->c));
  AMPED_TRY(amped_predictor_create(&j->k, &j->c, &j->p));
  if (is_array(j)) {
    amped_fact_json(f, "result", amped_json_string(model));
    amped_fact_json(f, "output", amped_json_string(j->o->output));
    return amped_predict_array(j->o, &j->p, &found, f);
  }
  refuse_counts(j);
  AMPED_TRY(begin_labels(j));
  AMPED_TRY(read_cells(j));
  AMPED_TRY(predict(j));
  amped_fact_json(f, "result", amped_json_string(model));
  amped_fact_json(f, "input", amped_json_string(j->o->args[1]));
  amped_fact_json(f, "output", amped_json_string(j->o->output));
  cells_facts(j, f);
  AMPED_TRY(labels_facts(j, f));
  return j->o->output != NULL ? write_output(j, &found) : AMPED_OK;
}

static amped_status check_output(job *j, amped_file_lock *lock) {
  const char *path = j->o->output;
  if (j->o->clip.to_data)
    return amped_error(AMPED_USAGE, NULL,
                       "--clip=data: a result does not hold the range of its data; give LO:HI");
  if (path == NULL)
    return AMPED_OK;
  if (is_array(j))
    AMPED_TRY(amped_predict_array_check(j->o));
  if (is_standard(path) && j->o->json != NULL && is_standard(j->o->json))
    return amped_error(AMPED_USAGE, NULL,
                       "the values and --json=- would mix on standard output; name a file for "
                       "one");
  j->out = AMPED_FORMAT_TABLE;
  if (j->o->predict.by != NULL && !is_standard(path) && !amped_table_named(path))
    return amped_error(AMPED_USAGE, path,
                       "errors by label are written as a table; name OUT.csv or OUT.tsv");
  if (is_standard(path)) {
    amped_log_to_stderr();
    return AMPED_OK;
  }
  AMPED_TRY(amped_io_format(path, &j->out));
  if (j->out == AMPED_FORMAT_NPY && !is_array(j))
    return amped_error(AMPED_USAGE, path,
                       "is for the values of all cells; leave out %s, or name .csv, .tsv, .tns or "
                       ".h5",
                       j->o->args[1]);
  AMPED_TRY(amped_file_check_writable(path));
  return amped_file_lock_take(path, lock);
}

amped_status amped_cmd_predict(const amped_options *o) {
  job j = {.o = o, .out = AMPED_FORMAT_TABLE};
  amped_facts facts;
  amped_json *json = NULL;
  amped_file_lock lock = {NULL, -1};
  amped_status status = AMPED_OK;
  AMPED_GO(done, check_output(&j, &lock));
  AMPED_GO(done, amped_result_argument_is("predict", o->args[0])); /* before opening other files */
  AMPED_GO(done, find_values(&j));
  AMPED_GO(done, amped_output_json(o->json, o->overwrite, &json));
  status = o->output != NULL ? amped_json_apart(json, o->output) : AMPED_OK;
  amped_facts_begin(&facts, "predict");
  if (status == AMPED_OK)
    status = steps(&j, &facts);
  status = amped_json_close(json, amped_facts_end(&facts, json, status));
done:
  for (int m = 0; m < AMPED_MAX_ORDER; m++)
    amped_free(j.own[m]);
  amped_sptensor_free(&j.cells);
  amped_label_errors_free(&j.by);
  amped_predictor_free(&j.p);
  amped_completion_free(&j.c);
  amped_ktensor_free(&j.k);
  amped_file_lock_release(&lock);
  return status;
}
