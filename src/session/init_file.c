/* Reads the factors of --init, and puts their rows into the tensor's order. */
#include "session/init_file.h"

#include <math.h>
#include <string.h>

#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/random.h"
#include "formats/completion_file.h"
#include "formats/result_file.h"
#include "hdf5/hdf5_probe.h"
#include "state/state_file.h"
#include "tensor/format.h"
#include "tensor/predictor.h"
#include "text/index_match.h"

/* Read --init=FILE. A wrong content hash means damage, or a change that the user made. */
static amped_status read_any(const amped_session_options *o, amped_ktensor *start) {
  char changed[AMPED_HDF5_NAME];
  AMPED_TRY(amped_result_file_read_start(o->init, start, changed));
  if (changed[0] == '\0')
    return AMPED_OK;
  if (!o->force_init)
    return amped_error(AMPED_BAD_INPUT, o->init,
                       "dataset %s disagrees with its content hash: it was damaged, or changed by "
                       "another program; --force-init starts from it anyway",
                       changed);
  amped_warn("%s: dataset %s disagrees with its content hash; --force-init starts from it anyway",
             o->init, changed);
  return AMPED_OK;
}

static bool is_fixed(const amped_init_fix *fix, int mode) {
  return fix != NULL && (fix->modes >> mode & 1) != 0;
}

void amped_init_fix_free(amped_init_fix *fix) {
  amped_ktensor_free(&fix->kept);
  amped_completion_free(&fix->kept_model);
  amped_free(fix->by);
  for (int m = 0; m < AMPED_MAX_ORDER; m++) {
    amped_free(fix->places[m]);
    amped_free(fix->unlearnt[m]);
  }
}

amped_status amped_init_file_check(const char *path) {
  bool is_state = false;
  AMPED_TRY(amped_file_check_readable(path, NULL));
  if (!amped_hdf5_is(path))
    return amped_error(
        AMPED_BAD_INPUT, path,
        "is not an HDF5 file; --init takes a result or a checkpoint of amped_mpi, or "
        "an HDF5 file with /weights and a dataset /factors/k for each mode k from 0");
  AMPED_TRY(amped_hdf5_probe(path));
  /* Damage is reported when the start is read. */
  if (amped_state_file_is(path, &is_state) != AMPED_OK)
    amped_status_clear();
  if (is_state)
    return amped_error(AMPED_BAD_INPUT, path,
                       "is the state of a stream, not a result; amped_mpi stream %s -o RESULT.h5 "
                       "writes its model",
                       path);
  return amped_result_file_is_part(path) ? amped_result_file_check_model(path) : AMPED_OK;
}

amped_status amped_init_file_set_ncomps(const amped_comm *comm, bool is_given,
                                        amped_session_options *o) {
  amped_status status = AMPED_OK;
  if (o->init == NULL || is_given)
    return AMPED_OK;
  if (comm->rank == 0)
    status = amped_result_file_read_ncomps(o->init, &o->ncomps);
  AMPED_TRY(amped_comm_agree(comm, status));
  amped_comm_broadcast(comm, &o->ncomps, sizeof o->ncomps);
  o->ncomps_list[0] = o->ncomps;
  o->ncomps_count = 1;
  return AMPED_OK;
}

/* --- rows ------------------------------------------------------------------------------------- */

static amped_status no_rows(const amped_index_side *file, const amped_index_side *tensor, int mode,
                            uint64_t missing) {
  return amped_error(AMPED_BAD_INPUT, file->path,
                     "lacks %" PRIu64 " of the %" PRIu64 " rows of mode %d of %s; start from a "
                     "model of the same tensor, or leave --init out",
                     missing, tensor->dims[mode], mode + 1, tensor->path);
}

/* Refuse a row of a fixed mode that the file does not have. */
static amped_status no_fixed_row(const amped_index_side *file, const amped_index_side *tensor,
                                 int mode, uint64_t index, uint64_t missing) {
  const amped_labels *labels = &tensor->labels[mode];
  char name[128];
  char text[128];
  return amped_error(AMPED_BAD_INPUT, tensor->path,
                     "has %s %s in %s, and %" PRIu64 " more, that %s lacks, and --fix keeps this "
                     "mode as it is there; leave out these entries, or fix other modes",
                     labels->count > 0 ? "label" : "index",
                     amped_label_text(labels, index, text, sizeof text),
                     amped_format_mode(name, sizeof name, mode, labels), missing - 1, file->path);
}

/* Are all labels numbers of indices, as the file counts them? Then they may be the indices of a
 * file without labels. */
static bool are_numbers(const amped_labels *labels, const amped_labels *of_file) {
  char digits[AMPED_LABEL_DIGITS];
  const char *text = NULL;
  bool all = labels->count > 0;
  for (uint64_t i = 0; i < labels->count && all; i++) {
    const uint64_t length = amped_label_as_counted(labels, i, of_file->from_zero, digits, &text);
    all = amped_index_is_number(of_file, text, length);
  }
  return all;
}

/* Find rows[i], the file's row for index i of the tensor; AMPED_INDEX_UNKNOWN: none. NULL: the
 * order is the same. Labels that are numbers are indices of a file without labels, as in predict.
 */
static amped_status find_rows(const amped_index_side *file, const amped_index_side *tensor,
                              int mode, bool is_free, uint64_t **rows) {
  const uint64_t dim = tensor->dims[mode];
  const bool no_labels = file->labels[mode].count == 0 && tensor->labels[mode].count > 0 &&
                         !are_numbers(&tensor->labels[mode], &file->labels[mode]);
  amped_index_match match;
  char where[128];
  *rows = NULL;
  if (no_labels && file->dims[mode] == dim) {
    amped_warn("%s: %s is matched by index, because it has no labels", file->path,
               amped_format_mode(where, sizeof where, mode, &tensor->labels[mode]));
    return AMPED_OK;
  }
  if (no_labels && is_free) { /* nothing says which rows are known */
    AMPED_TRY(amped_alloc(rows, dim, sizeof **rows, "the rows of the initial factors"));
    for (uint64_t i = 0; i < dim; i++)
      (*rows)[i] = AMPED_INDEX_UNKNOWN;
    return AMPED_OK;
  }
  AMPED_TRY(amped_index_match_create(file, tensor, mode, &match));
  if (match.rule == AMPED_INDEX_SAME && file->dims[mode] == dim)
    return AMPED_OK;
  amped_index_match_say(file, tensor, mode, &match);
  amped_status status = amped_alloc(rows, dim, sizeof **rows, "the rows of the initial factors");
  for (uint64_t i = 0; i < dim && status == AMPED_OK; i++)
    (*rows)[i] = amped_index_match_find(&match, i);
  amped_index_match_free(&match);
  return status;
}

/* Check that rows missing from the file are allowed. */
static amped_status check_rows(const amped_index_side *file, const amped_index_side *tensor,
                               int mode, const amped_init_fix *fix, const uint64_t *rows,
                               uint64_t *missing) {
  const uint64_t dim = tensor->dims[mode];
  uint64_t first = dim;
  char name[128];
  *missing = 0;
  for (uint64_t i = 0; i < dim && rows != NULL; i++)
    if (rows[i] == AMPED_INDEX_UNKNOWN) {
      first = first == dim ? i : first;
      ++*missing;
    }
  if (*missing > 0 && fix == NULL)
    return no_rows(file, tensor, mode, *missing);
  if (*missing > 0 && is_fixed(fix, mode))
    return no_fixed_row(file, tensor, mode, first, *missing);
  if (is_fixed(fix, mode) && fix->whole && file->dims[mode] != dim)
    return amped_error(AMPED_BAD_INPUT, tensor->path,
                       "is dense and has %" PRIu64 " of the %" PRIu64 " rows of %s of %s; "
                       "--fix needs cells of all of them",
                       dim, file->dims[mode],
                       amped_format_mode(name, sizeof name, mode, &tensor->labels[mode]),
                       file->path);
  return AMPED_OK;
}

/* Reorder *array, [dim] elements of `bytes` each: new element i is old element rows[i], or 0. */
static amped_status reorder(void **array, uint64_t bytes, const uint64_t *rows, uint64_t dim) {
  unsigned char *out = NULL;
  if (*array == NULL)
    return AMPED_OK;
  AMPED_TRY(amped_calloc(&out, dim, bytes, "the initial factors"));
  for (uint64_t i = 0; i < dim; i++)
    if (rows[i] != AMPED_INDEX_UNKNOWN)
      memcpy(out + i * bytes, (const unsigned char *)*array + rows[i] * bytes, bytes);
  amped_free(*array);
  *array = out;
  return AMPED_OK;
}

static amped_status reorder_mode(int mode, const uint64_t *rows, uint64_t dim, amped_ktensor *start,
                                 amped_completion *model) {
  void *factor = start->factors[mode];
  amped_status status = reorder(&factor, (uint64_t)start->ncomps * sizeof(double), rows, dim);
  start->factors[mode] = factor;
  start->dims[mode] = dim;
  if (status != AMPED_OK || model == NULL || model->order == 0)
    return status;
  void *bias = model->bias[mode];
  void *observed = model->observed[mode];
  status = reorder(&bias, sizeof(double), rows, dim);
  model->bias[mode] = bias;
  if (status == AMPED_OK)
    status = reorder(&observed, 1, rows, dim);
  model->observed[mode] = observed;
  model->dims[mode] = dim;
  return status;
}

/* --- fixed modes, new rows -------------------------------------------------------------------- */

static amped_status copy_of(const void *from, uint64_t count, uint64_t bytes, void *out) {
  void **to = out;
  if (from == NULL)
    return AMPED_OK;
  AMPED_TRY(amped_alloc(to, count, bytes, "a fixed factor"));
  memcpy(*to, from, count * bytes);
  return AMPED_OK;
}

/* Copy mode's factor, as the file has it, and its biases. */
static amped_status keep_mode(const amped_ktensor *start, const amped_completion *model, int mode,
                              amped_init_fix *fix) {
  const uint64_t dim = start->dims[mode];
  amped_ktensor *kept = &fix->kept;
  uint64_t elements = 0;
  kept->order = start->order;
  kept->ncomps = start->ncomps;
  kept->dims[mode] = dim;
  if (!amped_mul(dim, (uint64_t)start->ncomps, &elements))
    return amped_error(AMPED_FAILED, NULL, "the factor of mode %d is too large", mode + 1);
  AMPED_TRY(copy_of(start->factors[mode], elements, sizeof(double), &kept->factors[mode]));
  if (model == NULL || model->order == 0)
    return AMPED_OK;
  AMPED_TRY(copy_of(model->bias[mode], dim, sizeof(double), &fix->kept_model.bias[mode]));
  return copy_of(model->observed[mode], dim, 1, &fix->kept_model.observed[mode]);
}

/* Replace rows of a mode that have learnt nothing by what predict takes for them: the mean of those
 * that have. */
static void fill_unlearnt(const amped_predictor *p, int mode, amped_ktensor *start,
                          amped_completion *model) {
  const uint64_t n = (uint64_t)start->ncomps;
  for (uint64_t i = 0; i < start->dims[mode]; i++) {
    if (model->observed[mode][i])
      continue;
    memcpy(start->factors[mode] + i * n, p->mean_row[mode], n * sizeof(double));
    if (model->biased)
      model->bias[mode][i] = p->mean_bias[mode];
  }
}

/* Do rows without a learnt entry stand for the mean of others? In a model of --implicit they are
 * learnt from their zeros. */
static bool has_unlearnt(const amped_completion *model, int mode) {
  return model != NULL && model->order > 0 && !(model->implicit > 0.0) &&
         model->observed[mode] != NULL;
}

/* Note which of the tensor's rows of a fixed mode have learnt nothing. model: in the tensor's
 * order. */
static amped_status note_unlearnt(int mode, uint64_t dim, const amped_completion *model,
                                  amped_init_fix *fix) {
  uint64_t count = 0;
  if (!is_fixed(fix, mode) || !has_unlearnt(model, mode))
    return AMPED_OK;
  for (uint64_t i = 0; i < dim; i++)
    count += !model->observed[mode][i];
  if (count == 0)
    return AMPED_OK;
  AMPED_TRY(amped_alloc(&fix->unlearnt[mode], dim, 1, "the rows of a model"));
  for (uint64_t i = 0; i < dim; i++)
    fix->unlearnt[mode][i] = !model->observed[mode][i];
  return AMPED_OK;
}

/* Copy the fixed modes. Then give the columns of a completion the lengths from which sweeps
 * continue: they depend on all rows of the file. */
static amped_status keep_modes(amped_completion *model, amped_init_fix *fix, amped_ktensor *start) {
  const uint64_t elements = (uint64_t)start->order * (uint64_t)start->ncomps;
  for (int m = 0; m < start->order; m++)
    if (is_fixed(fix, m))
      AMPED_TRY(keep_mode(start, model, m, fix));
  if (model == NULL)
    return AMPED_OK;
  AMPED_TRY(amped_alloc(&fix->by, elements, sizeof *fix->by, "the lengths of fixed columns"));
  amped_completion_stretch(model, fix->context, start, fix->by);
  amped_predictor means;
  AMPED_TRY(amped_predictor_create(start, model, &means));
  for (int m = 0; m < start->order; m++)
    if (is_fixed(fix, m) && has_unlearnt(model, m))
      fill_unlearnt(&means, m, start, model);
  amped_predictor_free(&means);
  return AMPED_OK;
}

/* The labels of fixed modes, which the start does not need any more. */
static void keep_labels(amped_init_fix *fix, amped_ktensor *start) {
  for (int m = 0; m < start->order; m++)
    if (is_fixed(fix, m)) {
      fix->kept.labels[m] = start->labels[m];
      memset(&start->labels[m], 0, sizeof start->labels[m]);
    }
}

/* Root mean square of the columns of mode's factor; 1 for a column of zeros. */
static void column_sizes(const amped_ktensor *k, int mode, double *sizes) {
  const uint64_t n = (uint64_t)k->ncomps;
  const double *factor = k->factors[mode];
  double most[AMPED_MAX_NCOMPS] = {0.0};
  double sums[AMPED_MAX_NCOMPS] = {0.0};
  for (uint64_t i = 0; i < k->dims[mode] * n; i++)
    most[i % n] = fmax(most[i % n], fabs(factor[i]));
  for (uint64_t i = 0; i < k->dims[mode] * n; i++)
    if (most[i % n] > 0.0)
      sums[i % n] += (factor[i] / most[i % n]) * (factor[i] / most[i % n]);
  for (uint64_t r = 0; r < n; r++)
    sizes[r] = most[r] > 0.0 ? most[r] * sqrt(sums[r] / (double)k->dims[mode]) : 1.0;
}

/* Draw the rows missing from the file: normal numbers of the column's size. */
static void draw_rows(amped_ktensor *start, int mode, const uint64_t *rows, const double *sizes,
                      const amped_init_fix *fix) {
  const uint64_t n = (uint64_t)start->ncomps;
  const bool nonnegative = (fix->nonnegative >> mode & 1) != 0;
  for (uint64_t i = 0; i < start->dims[mode]; i++)
    for (uint64_t r = 0; r < n && rows[i] == AMPED_INDEX_UNKNOWN; r++) {
      const double x = sizes[r] * amped_random_normal(fix->seed, (uint64_t)mode, i * n + r);
      start->factors[mode][i * n + r] = nonnegative ? fabs(x) : x;
    }
}

/* --- reading ---------------------------------------------------------------------------------- */

/* Bring the rows of a mode, [dim] of which the tensor has, into its order. */
static amped_status take_mode(int mode, uint64_t *rows, uint64_t dim, amped_init_fix *fix,
                              amped_ktensor *start, amped_completion *model) {
  double sizes[AMPED_MAX_NCOMPS];
  if (rows == NULL)
    return AMPED_OK;
  column_sizes(start, mode, sizes);
  AMPED_TRY(reorder_mode(mode, rows, dim, start, model));
  if (fix != NULL && !is_fixed(fix, mode))
    draw_rows(start, mode, rows, sizes, fix);
  return AMPED_OK;
}

static amped_status match_mode(const amped_index_side *file, const amped_index_side *tensor,
                               int mode, amped_init_fix *fix, amped_ktensor *start,
                               amped_completion *model) {
  uint64_t *rows = NULL;
  uint64_t missing = 0;
  amped_status status = find_rows(file, tensor, mode, fix != NULL && !is_fixed(fix, mode), &rows);
  if (status == AMPED_OK)
    status = check_rows(file, tensor, mode, fix, rows, &missing);
  if (status == AMPED_OK)
    status = take_mode(mode, rows, tensor->dims[mode], fix, start, model);
  if (status == AMPED_OK && fix != NULL)
    fix->fresh[mode] = missing;
  if (status == AMPED_OK && fix != NULL)
    status = note_unlearnt(mode, tensor->dims[mode], model, fix);
  if (status == AMPED_OK && is_fixed(fix, mode))
    fix->places[mode] = rows;
  else
    amped_free(rows);
  return status;
}

static amped_status match_rows(const amped_session_options *o, const amped_plan *plan,
                               const amped_labels *labels, amped_init_fix *fix,
                               amped_ktensor *start, amped_completion *model) {
  uint64_t dims[AMPED_MAX_ORDER];
  const amped_index_side file = {o->init, start->order, dims, start->labels};
  const amped_index_side tensor = {o->input != NULL ? o->input : "the tensor", plan->order,
                                   plan->dims, labels};
  memcpy(dims, start->dims, sizeof dims);
  AMPED_TRY(amped_index_match_check(&file, &tensor));
  for (int m = 0; m < plan->order; m++)
    AMPED_TRY(match_mode(&file, &tensor, m, fix, start, model));
  return AMPED_OK;
}

/* A completion model as a decomposition is without its mean and biases. For a start that is a
 * warning; what --fix keeps would no longer mean what the model means. */
static amped_status check_parts(const char *path, const amped_ktensor *start, bool keeps) {
  amped_completion c = {.order = 0};
  AMPED_TRY(amped_completion_file_read(path, start->order, start->dims, false, &c));
  const bool has_parts = c.order > 0 && (c.biased || c.mean != 0.0);
  const char *parts = c.biased ? "a mean and biases" : "a mean";
  amped_completion_free(&c);
  if (has_parts && keeps)
    return amped_error(AMPED_BAD_INPUT, path,
                       "is a completion model with %s, which cpd cannot keep beside the factors of "
                       "--fix; use amped_mpi complete --fix, or a model of complete --bias=none",
                       parts);
  if (has_parts)
    amped_warn("%s: is a completion model with %s, which a decomposition does not have; it starts "
               "from the components alone",
               path, parts);
  return AMPED_OK;
}

amped_status amped_init_file_read(const amped_session_options *o, const amped_plan *plan,
                                  const amped_labels *labels, int ncomps, amped_init_fix *fix,
                                  amped_ktensor *start, amped_completion *model) {
  char where[128];
  AMPED_TRY(read_any(o, start));
  if (start->order != plan->order)
    return amped_error(AMPED_BAD_INPUT, o->init,
                       "has order %d, the tensor %d; it belongs to another tensor", start->order,
                       plan->order);
  if (start->ncomps != ncomps)
    return amped_error(AMPED_BAD_INPUT, o->init,
                       "has %d components, the run has %d; use --rank=%d or another start",
                       start->ncomps, ncomps, start->ncomps);
  for (int m = 0; m < plan->order && fix == NULL; m++)
    if (start->labels[m].count == 0 && start->dims[m] != plan->dims[m])
      return amped_error(AMPED_BAD_INPUT, o->init,
                         "the factor of %s has %" PRIu64 " rows, the tensor has dimension %" PRIu64
                         "; it belongs to another tensor",
                         amped_format_mode(where, sizeof where, m, &labels[m]), start->dims[m],
                         plan->dims[m]);
  if (model == NULL)
    AMPED_TRY(check_parts(o->init, start, fix != NULL));
  else
    AMPED_TRY(amped_completion_file_read(o->init, start->order, start->dims, true, model));
  if (fix != NULL)
    AMPED_TRY(keep_modes(model, fix, start));
  AMPED_TRY(match_rows(o, plan, labels, fix, start, model));
  if (fix != NULL)
    keep_labels(fix, start);
  return AMPED_OK;
}
