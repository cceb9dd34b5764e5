/* Predicted array: cells are computed in blocks, and appended to the output in pieces. */
#include "cli/predict_array.h"

#include <cblas.h>
#include <float.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/printable.h"
#include "base/system_memory.h"
#include "cli/prediction_errors.h"
#include "formats/result_file.h"
#include "load/dense_output.h"
#include "load/dense_source.h"
#include "tensor/format.h"
#include "tensor/gap_summary.h"
#include "text/index_match.h"

/* Cells that are computed together. */
#define BLOCK (UINT64_C(1) << 16)

/* Most bytes of a result's options, as JSON. */
#define OPTIONS_BYTES (UINT64_C(1) << 16)

/* Doubles hold all integers up to this one. */
#define EXACT 9007199254740992.0

/* Floats are used for values up to this size, of differences down to its inverse, if rounding is
 * below this share of the differences. */
#define LARGE 1e30
#define SMALL 1e-3

typedef struct array {
  const amped_options *o;
  const amped_predictor *p;
  amped_dense_info info;              /* info of the output */
  amped_dense_source *observed;       /* NULL: no cell is observed */
  uint64_t piece;                     /* cells that are read and written together */
  uint64_t *known[AMPED_MAX_ORDER];   /* per mode, for each index: the index, or COLD */
  uint64_t learnt[AMPED_MAX_ORDER];   /* per mode, indices with a learnt entry */
  uint64_t *indices[AMPED_MAX_ORDER]; /* [BLOCK] */
  double *values;                     /* [BLOCK] predictions */
  double *kept;                       /* [BLOCK] observed values; NaN: missing */
  char *read;                         /* [piece] cells of the observed array */
  char *cells;                        /* [piece] cells of the output */
  amped_prediction_errors errors;     /* at observed cells */
} array;

amped_status amped_predict_array_check(const amped_options *o) {
  if (amped_dense_output_is(o->output))
    return AMPED_OK;
  return amped_error(AMPED_USAGE, o->output,
                     "cannot hold the value of every cell; name OUT.npy or OUT.h5, or name the "
                     "cells to predict: amped_mpi predict RESULT COORDS");
}

/* --- what is written -------------------------------------------------------------------------- */

/* Can a float hold all values of this type? */
static bool fits_float(amped_cell_type type) {
  return amped_cell_bytes(type) < 4 || type == AMPED_CELL_F32;
}

/* Multiply products[r][s], where s >= r, by the mean of row[r] row[s] over mode's rows. Multiply
 * means[r] by the mean of row[r]. gram: [ncomps][ncomps], workspace. */
static void multiply_means(const amped_ktensor *k, int mode, double *gram, double *products,
                           double *means) {
  const uint64_t n = (uint64_t)k->ncomps;
  double sums[AMPED_MAX_NCOMPS] = {0.0};
  for (uint64_t first = 0; first < k->dims[mode]; first += BLOCK) {
    const uint64_t rows = k->dims[mode] - first < BLOCK ? k->dims[mode] - first : BLOCK;
    const double *factor = k->factors[mode] + first * n;
    cblas_dsyrk(CblasRowMajor, CblasUpper, CblasTrans, (int)n, (int)rows, 1.0, factor, (int)n,
                first > 0 ? 1.0 : 0.0, gram, (int)n);
    for (uint64_t i = 0; i < rows * n; i++)
      sums[i % n] += factor[i];
  }
  for (uint64_t r = 0; r < n; r++) {
    means[r] *= sums[r] / (double)k->dims[mode];
    for (uint64_t s = r; s < n; s++)
      products[r * n + s] *= gram[r * n + s] / (double)k->dims[mode];
  }
}

/* Root mean square and standard deviation of the components' sum over all cells. work: 2 ncomps^2
 * numbers. */
static void find_moments(const amped_ktensor *k, double *work, double *size, double *spread) {
  const uint64_t n = (uint64_t)k->ncomps;
  double means[AMPED_MAX_NCOMPS];
  double mean = 0.0;
  double square = 0.0;
  memcpy(means, k->weights, n * sizeof *means);
  for (uint64_t i = 0; i < n * n; i++)
    work[i] = k->weights[i / n] * k->weights[i % n];
  for (int m = 0; m < k->order; m++)
    multiply_means(k, m, work + n * n, work, means);
  for (uint64_t r = 0; r < n; r++) {
    mean += means[r];
    for (uint64_t s = r; s < n; s++)
      square += (r == s ? 1.0 : 2.0) * work[r * n + s];
  }
  *size = sqrt(fmax(square, mean * mean));
  *spread = sqrt(fmax(square - mean * mean, 0.0));
}

/* The size of the components' sum, if their columns have unit length. */
static double rough_size(const amped_ktensor *k) {
  double cells = 1.0;
  double sum = 0.0;
  for (int m = 0; m < k->order; m++)
    cells *= (double)k->dims[m];
  for (int r = 0; r < k->ncomps; r++)
    sum += fabs(k->weights[r]);
  return sum / sqrt(cells);
}

/* Typical size of the model's values, and of their differences. */
static amped_status find_sizes(const array *a, double *size, double *spread) {
  const amped_completion *c = a->p->c;
  const amped_ktensor *k = a->p->k;
  const double scale = c != NULL ? c->scale : 1.0;
  double *work = NULL;
  *spread = scale;
  *size = c != NULL ? fabs(c->mean) + scale : 0.0;
  if (c != NULL && (c->mean != 0.0 || c->biased))
    return AMPED_OK;
  const uint64_t n = (uint64_t)k->ncomps;
  AMPED_TRY(amped_alloc(&work, 2 * n * n, sizeof *work, "the products of components"));
  find_moments(k, work, size, spread);
  amped_free(work);
  if (!(*size > DBL_EPSILON / LARGE) || !isfinite(*size)) /* squares may leave the range */
    *size = *spread = rough_size(k);
  *size *= scale;
  *spread *= scale;
  return AMPED_OK;
}

/* Do floats hold the model's values, with a rounding error that is small beside their
 * differences? */
static bool floats_hold(double size, double spread) {
  return !(size > 0.0) ||
         (size < LARGE && spread > 1.0 / LARGE && size * FLT_EPSILON < SMALL * spread);
}

/* Choose the type of the output's cells: --type, or float unless observed cells or the model's
 * values need double. */
static amped_status find_type(array *a) {
  const amped_vtype asked = a->o->session.cells.type;
  const bool rounds_cells =
      a->observed != NULL && !fits_float(amped_dense_source_info(a->observed)->type);
  double size = 0.0;
  double spread = 0.0;
  AMPED_TRY(find_sizes(a, &size, &spread));
  const bool needs_double = rounds_cells || !floats_hold(size, spread);
  a->info.type = asked == AMPED_F64 || needs_double ? AMPED_CELL_F64 : AMPED_CELL_F32;
  if (asked != AMPED_F32 || !needs_double)
    return AMPED_OK;
  if (!rounds_cells)
    return amped_error(AMPED_USAGE, NULL,
                       "--type=float has too few digits, or too small a range, for the values of "
                       "%s, whose size is %.3g and whose differences are %.3g; leave it out",
                       a->o->args[0], size, spread);
  return amped_error(AMPED_USAGE, NULL,
                     "--type=float would round the observed cells of %s, which are %s; leave it "
                     "out",
                     a->o->predict.observed,
                     amped_cell_name(amped_dense_source_info(a->observed)->type));
}

/* Check that each index of a mode is the model's row of that number, and say how they were
 * matched. */
static amped_status match_mode(const amped_index_side *model, const amped_index_side *cells,
                               int mode) {
  amped_index_match match;
  char name[128];
  bool same = true;
  AMPED_TRY(amped_index_match_create(model, cells, mode, &match));
  amped_index_match_say(model, cells, mode, &match);
  for (uint64_t i = 0; i < cells->dims[mode]; i++)
    same = same && amped_index_match_find(&match, i) == i;
  amped_index_match_free(&match);
  if (same)
    return AMPED_OK;
  return amped_error(AMPED_BAD_INPUT, cells->path,
                     "its indices of %s are other rows of %s, by their labels; complete the "
                     "array itself, or predict at cells of a table",
                     amped_format_mode(name, sizeof name, mode, &model->labels[mode]), model->path);
}

/* Check that each index of the observed array is the model's row of that number. */
static amped_status match_rows(const array *a, const amped_dense_info *info) {
  const amped_ktensor *k = a->p->k;
  amped_labels own[AMPED_MAX_ORDER] = {{.count = 0}};
  const amped_index_side model = {a->o->args[0], k->order, k->dims, k->labels};
  const amped_index_side cells = {a->o->predict.observed, info->order, info->dims, own};
  amped_status status = amped_dense_source_labels(a->observed, NULL, own);
  for (int m = 0; m < k->order && status == AMPED_OK; m++) {
    own[m].from_zero = own[m].count > 0 ? own[m].from_zero : k->labels[m].from_zero;
    status = match_mode(&model, &cells, m);
  }
  for (int m = 0; m < AMPED_MAX_ORDER; m++)
    amped_labels_free(&own[m]);
  return status;
}

static amped_status open_observed(array *a) {
  const char *path = a->o->predict.observed;
  const amped_ktensor *k = a->p->k;
  char own[AMPED_DIMS_TEXT];
  char model[AMPED_DIMS_TEXT];
  if (path == NULL)
    return AMPED_OK;
  AMPED_TRY(amped_dense_source_open(path, a->o->session.dataset, &a->observed));
  amped_dense_source_set_missing(a->observed, AMPED_MISSING_KEEP);
  const amped_dense_info *info = amped_dense_source_info(a->observed);
  bool same = info->order == k->order;
  for (int m = 0; m < k->order && same; m++)
    same = info->dims[m] == k->dims[m];
  return same ? match_rows(a, info)
              : amped_error(AMPED_BAD_INPUT, path,
                            "is %s, and the model of %s is %s; name the array that it completes",
                            amped_format_dims(own, info->order, info->dims), a->o->args[0],
                            amped_format_dims(model, k->order, k->dims));
}

static amped_status describe(array *a) {
  const amped_ktensor *k = a->p->k;
  char mode[128];
  a->info.order = k->order;
  memcpy(a->info.dims, k->dims, sizeof a->info.dims);
  for (int m = 0; m < k->order; m++) {
    a->info.layout[m] = m;
    if (k->labels[m].are_indices)
      amped_warn("%s: %s has only the %" PRIu64
                 " indices that --compact kept, in the model's order; predict at cells of a text "
                 "has them all",
                 a->o->output, amped_format_mode(mode, sizeof mode, m, &k->labels[m]), k->dims[m]);
  }
  AMPED_TRY(open_observed(a));
  AMPED_TRY(find_type(a));
  if (!amped_dense_info_count(&a->info))
    return amped_error(AMPED_BAD_INPUT, a->o->args[0],
                       "its model has more cells than 63 bits count; name the cells to predict: "
                       "amped_mpi predict RESULT COORDS");
  return AMPED_OK;
}

/* --- memory ----------------------------------------------------------------------------------- */

/* Cells of a piece. The observed array takes its memory twice to bring cells into C's order. */
static uint64_t piece_of(const array *a) {
  const amped_dense_info *read =
      a->observed != NULL ? amped_dense_source_info(a->observed) : &a->info;
  const uint64_t bytes = 2 * amped_cell_bytes(read->type) + amped_cell_bytes(a->info.type);
  return amped_dense_output_piece(read, amped_mem_available() / 4, bytes);
}

static amped_status make_room(array *a) {
  a->piece = piece_of(a);
  for (int m = 0; m < a->info.order; m++)
    AMPED_TRY(amped_alloc(&a->indices[m], BLOCK, sizeof **a->indices, "cells"));
  AMPED_TRY(amped_alloc(&a->values, BLOCK, sizeof *a->values, "the predictions"));
  AMPED_TRY(amped_alloc(&a->cells, a->piece, amped_cell_bytes(a->info.type), "cells"));
  if (a->observed == NULL)
    return AMPED_OK;
  AMPED_TRY(amped_alloc(&a->kept, BLOCK, sizeof *a->kept, "observed cells"));
  return amped_alloc(&a->read, a->piece,
                     amped_cell_bytes(amped_dense_source_info(a->observed)->type),
                     "observed cells");
}

/* Find the indices of which the model learnt an entry. */
static amped_status find_known(array *a) {
  for (int m = 0; m < a->info.order; m++) {
    AMPED_TRY(amped_alloc(&a->known[m], a->info.dims[m], sizeof **a->known, "known indices"));
    for (uint64_t i = 0; i < a->info.dims[m]; i++) {
      a->known[m][i] = amped_predictor_known(a->p, m, i);
      a->learnt[m] += a->known[m][i] != AMPED_PREDICTOR_COLD;
    }
  }
  return AMPED_OK;
}

static void free_all(array *a) {
  for (int m = 0; m < AMPED_MAX_ORDER; m++) {
    amped_free(a->known[m]);
    amped_free(a->indices[m]);
  }
  amped_free(a->values);
  amped_free(a->kept);
  amped_free(a->read);
  amped_free(a->cells);
  amped_dense_source_close(a->observed);
}

/* --- cells ------------------------------------------------------------------------------------ */

/* Fill values with the predictions at cells first .. first + count. */
static void predict_block(array *a, uint64_t first, uint64_t count) {
  const amped_dense_info *info = &a->info;
#pragma omp parallel for schedule(static)
  for (uint64_t i = 0; i < count; i++) {
    uint64_t index[AMPED_MAX_ORDER];
    amped_dense_index(info->order, info->dims, info->layout, first + i, index);
    for (int m = 0; m < info->order; m++)
      a->indices[m][i] = a->known[m][index[m]];
  }
  amped_predictor_values(a->p, a->indices, count, a->values);
}

static const char *place_of(const array *a, uint64_t cell, char *text, size_t size) {
  uint64_t index[AMPED_MAX_ORDER];
  size_t at = 0;
  amped_dense_index(a->info.order, a->info.dims, a->info.layout, cell, index);
  for (int m = 0; m < a->info.order && at < size; m++)
    at += (size_t)snprintf(text + at, size - at, "%s%" PRIu64, m > 0 ? ", " : "", index[m] + 1);
  return text;
}

/* Check that the output can hold an observed value. */
static amped_status check_kept(const array *a, uint64_t cell, double value) {
  char place[AMPED_DIMS_TEXT];
  if (!amped_cell_is_integer(amped_dense_source_info(a->observed)->type) || fabs(value) < EXACT)
    return AMPED_OK;
  return amped_error(AMPED_BAD_INPUT, a->o->predict.observed,
                     "the cell at (%s) is %.0f, and a float holds integers below 2^53 only; leave "
                     "out --observed",
                     place_of(a, cell, place, sizeof place), value);
}

/* Check that the output can hold a prediction. */
static amped_status check_prediction(const array *a, uint64_t cell, double value) {
  const bool single = a->info.type == AMPED_CELL_F32;
  char place[AMPED_DIMS_TEXT];
  if (fabs(value) <= (single ? (double)FLT_MAX : DBL_MAX))
    return AMPED_OK;
  return amped_error(AMPED_FAILED, a->o->args[0], "the model's value at (%s) is %g, which %s; %s",
                     place_of(a, cell, place, sizeof place), value,
                     isfinite(value) ? "float32 does not hold" : "is not finite",
                     isfinite(value) ? "use --type=double" : "its factors are too large");
}

/* Put a block's predictions and observed values into the cells of the output. */
static amped_status put_block(array *a, uint64_t first, uint64_t count, void *cells) {
  const amped_vtype type = a->info.type == AMPED_CELL_F32 ? AMPED_F32 : AMPED_F64;
  for (uint64_t i = 0; i < count; i++) {
    const double cut = amped_clip(&a->o->clip, a->values[i]);
    const bool keeps = a->observed != NULL && !isnan(a->kept[i]);
    const double value = keeps ? a->kept[i] : cut;
    AMPED_TRY(keeps ? check_kept(a, first + i, value) : check_prediction(a, first + i, value));
    if (keeps)
      amped_prediction_errors_add(&a->errors, value - a->values[i], value - cut);
    amped_value_put(cells, type, i, value);
  }
  return AMPED_OK;
}

/* Fill the cells of a piece: first .. first + count. */
static amped_status fill_piece(array *a, uint64_t first, uint64_t count) {
  const uint64_t bytes = amped_cell_bytes(a->info.type);
  if (a->observed != NULL)
    AMPED_TRY(amped_dense_source_read_c(a->observed, first, count, a->read));
  for (uint64_t at = 0; at < count; at += BLOCK) {
    const uint64_t n = count - at < BLOCK ? count - at : BLOCK;
    if (a->observed != NULL)
      AMPED_TRY(amped_dense_source_values(
          a->observed, a->info.layout, first + at, n,
          a->read + at * amped_cell_bytes(amped_dense_source_info(a->observed)->type), a->kept));
    predict_block(a, first + at, n);
    AMPED_TRY(put_block(a, first + at, n, a->cells + at * bytes));
  }
  return AMPED_OK;
}

static amped_status write_pieces(array *a, amped_dense_output *output) {
  const uint64_t all = a->info.cells;
  amped_status status = AMPED_OK;
  amped_progress_begin("predicting", all, "cells");
  for (uint64_t first = 0; first < all && status == AMPED_OK; first += a->piece) {
    const uint64_t n = all - first < a->piece ? all - first : a->piece;
    status = fill_piece(a, first, n);
    if (status == AMPED_OK)
      status = amped_dense_output_append(output, n, a->cells);
    amped_progress_update(first + n);
  }
  amped_progress_end();
  return status;
}

static amped_status write_output(array *a, const amped_output *found) {
  const amped_output_shape shape = {
      .order = a->info.order, .dims = a->info.dims, .labels = a->p->k->labels};
  amped_dense_output *output = NULL;
  AMPED_TRY(amped_dense_output_create(a->o->output, &a->info, &output));
  amped_status status = amped_dense_output_set_labels(output, a->p->k->labels);
  if (status == AMPED_OK)
    status = write_pieces(a, output);
  if (status == AMPED_OK)
    status = amped_output_compare_tensor(found, amped_dense_output_info(output)->hash, &shape);
  if (status == AMPED_OK)
    return amped_dense_output_publish(output);
  amped_dense_output_discard(output);
  return status;
}

/* --- the report ------------------------------------------------------------------------------- */

/* Number of cells with an index that the model does not know. */
static uint64_t cold_cells(const array *a) {
  uint64_t warm = 1;
  for (int m = 0; m < a->info.order; m++)
    warm *= a->learnt[m];
  return a->info.cells - warm;
}

/* Warn of gaps that the model does not know, mode by mode, and add them to JSON. */
static void report_gaps(const array *a, amped_facts *f) {
  const amped_completion *c = a->p->c;
  char text[AMPED_GAP_TEXT];
  for (int m = 0; m < a->info.order && c != NULL; m++) {
    amped_facts part;
    if (c->gap_rmse[m] == NULL)
      continue;
    const double reported = amped_gap_summary_reported(c);
    const amped_gap_summary s = amped_gap_summary_of(c->gap_rmse[m], c->dims[m], reported);
    amped_facts_begin(&part, NULL);
    amped_fact_json(&part, "mode", json_integer(m));
    amped_gap_summary_facts(&s, &part);
    amped_facts_row(f, "gaps", &part);
    if (s.count > 0)
      amped_warn("%s: %s; the reported error is %.4g", a->o->args[0],
                 amped_gap_summary_text(text, &s, m, c->dims[m], &a->p->k->labels[m]), reported);
  }
}

/* Warn if cells that the model took for unknown, by a weight of 0, are kept as observed. kept: the
 * number of observed cells. Results of older versions do not say how many entries they had. */
static amped_status warn_of_ignored(const array *a, uint64_t kept) {
  char *text = NULL;
  AMPED_TRY(amped_alloc(&text, OPTIONS_BYTES, 1, "the result's options"));
  const amped_status status = amped_result_file_text(a->o->args[0], "options", text, OPTIONS_BYTES);
  json_t *options = status == AMPED_OK ? json_loads(text, 0, NULL) : NULL;
  const char *weights = json_string_value(json_object_get(options, "weights"));
  const json_int_t ignored = json_integer_value(json_object_get(options, "ignored"));
  const json_int_t entries = json_integer_value(json_object_get(options, "entries"));
  if (weights != NULL && ignored > 0 && entries > 0 && kept > (uint64_t)entries) {
    char name[256];
    amped_warn("%s: %" PRIu64 " of its cells are kept as observed, and are in the errors, but were "
               "unknown to the model, where they have weight 0 (--weights=%s); make them NaN to "
               "predict them",
               a->o->predict.observed, kept - (uint64_t)entries,
               amped_printable_text(name, sizeof name, weights));
  }
  json_decref(options);
  amped_free(text);
  return status;
}

static void report(const array *a, amped_facts *f) {
  const uint64_t kept = a->errors.count;
  const uint64_t cold = cold_cells(a);
  const bool implicit = a->p->c != NULL && a->p->c->implicit > 0.0;
  char mode[128];
  amped_fact_json(f, "cells", amped_json_count(a->info.cells));
  amped_fact_json(f, "cell_type", json_string(amped_cell_name(a->info.type)));
  amped_fact_json(f, "observed", amped_json_count(kept));
  amped_fact_json(f, "cold", amped_json_count(cold));
  for (int m = 0; m < a->info.order && cold > 0; m++)
    if (a->learnt[m] < a->info.dims[m])
      amped_fact_words(f,
                       "%s: %" PRIu64 " of %" PRIu64
                       " indices have no learnt entry, and count as the mean of the others\n",
                       amped_format_mode(mode, sizeof mode, m, &a->p->k->labels[m]),
                       a->info.dims[m] - a->learnt[m], a->info.dims[m]);
  report_gaps(a, f);
  if (kept > 0 && !implicit)
    amped_fact_words(f, "the model at the %" PRIu64 " observed cells:\n", kept);
  amped_prediction_errors_facts(&a->errors, kept > 0 && !implicit, a->o->clip.given, f);
  amped_fact_words(
      f, "wrote %s: %" PRIu64 " cells of %s, %" PRIu64 " predicted and %" PRIu64 " observed\n",
      a->o->output, a->info.cells, amped_cell_name(a->info.type), a->info.cells - kept, kept);
}

amped_status amped_predict_array(const amped_options *o, const amped_predictor *p,
                                 const amped_output *found, amped_facts *f) {
  array a = {.o = o, .p = p};
  amped_status status = AMPED_OK;
  AMPED_GO(done, describe(&a));
  AMPED_GO(done, find_known(&a));
  AMPED_GO(done, make_room(&a));
  AMPED_GO(done, write_output(&a, found));
  if (a.observed != NULL && p->c != NULL)
    AMPED_GO(done, warn_of_ignored(&a, a.errors.count));
  report(&a, f);
done:
  free_all(&a);
  return status;
}
