/* Reads the factors of --init, and puts their rows into the tensor's order. */
#include "session/init_file.h"

#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "formats/completion_file.h"
#include "formats/result_file.h"
#include "tensor/format.h"
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

/* Find rows[i], the file's row for index i of the tensor. NULL: the order is the same. */
static amped_status find_rows(const amped_index_side *file, const amped_index_side *tensor,
                              int mode, uint64_t **rows) {
  const uint64_t dim = tensor->dims[mode];
  amped_index_match match;
  uint64_t missing = 0;
  char where[128];
  (void)amped_format_mode(where, sizeof where, mode, &tensor->labels[mode]);
  *rows = NULL;
  if (file->labels[mode].count == 0 && tensor->labels[mode].count > 0 && file->dims[mode] == dim) {
    amped_warn("%s: %s is matched by index, because it has no labels", file->path, where);
    return AMPED_OK;
  }
  AMPED_TRY(amped_index_match_create(file, tensor, mode, &match));
  if (match.rule == AMPED_INDEX_SAME && file->dims[mode] == dim)
    return AMPED_OK;
  amped_index_match_say(file, tensor, mode, &match);
  amped_status status = amped_alloc(rows, dim, sizeof **rows, "the rows of the initial factors");
  for (uint64_t i = 0; i < dim && status == AMPED_OK; i++) {
    (*rows)[i] = amped_index_match_find(&match, i);
    missing += (*rows)[i] == AMPED_INDEX_UNKNOWN;
  }
  amped_index_match_free(&match);
  AMPED_TRY(status);
  if (missing > 0)
    return amped_error(AMPED_BAD_INPUT, file->path,
                       "lacks %" PRIu64 " of the %" PRIu64 " rows of %s of %s; start from a "
                       "model of the same tensor, or leave --init out",
                       missing, dim, where, tensor->path);
  return AMPED_OK;
}

/* Reorder *array, [dim] elements of `bytes` each: new element i is old element rows[i]. */
static amped_status reorder(void **array, uint64_t bytes, const uint64_t *rows, uint64_t dim) {
  unsigned char *out = NULL;
  if (*array == NULL)
    return AMPED_OK;
  AMPED_TRY(amped_alloc(&out, dim, bytes, "the initial factors"));
  for (uint64_t i = 0; i < dim; i++)
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

static amped_status match_rows(const amped_session_options *o, const amped_plan *plan,
                               const amped_labels *labels, amped_ktensor *start,
                               amped_completion *model) {
  uint64_t dims[AMPED_MAX_ORDER];
  const amped_index_side file = {o->init, start->order, dims, start->labels};
  const amped_index_side tensor = {o->input != NULL ? o->input : "the tensor", plan->order,
                                   plan->dims, labels};
  memcpy(dims, start->dims, sizeof dims);
  AMPED_TRY(amped_index_match_check(&file, &tensor));
  for (int m = 0; m < plan->order; m++) {
    uint64_t *rows = NULL;
    amped_status status = find_rows(&file, &tensor, m, &rows);
    if (status == AMPED_OK && rows != NULL)
      status = reorder_mode(m, rows, plan->dims[m], start, model);
    amped_free(rows);
    AMPED_TRY(status);
  }
  return AMPED_OK;
}

amped_status amped_init_file_read(const amped_session_options *o, const amped_plan *plan,
                                  const amped_labels *labels, int ncomps, amped_ktensor *start,
                                  amped_completion *model) {
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
  for (int m = 0; m < plan->order; m++)
    if (start->labels[m].count == 0 && start->dims[m] != plan->dims[m])
      return amped_error(AMPED_BAD_INPUT, o->init,
                         "the factor of %s has %" PRIu64 " rows, the tensor has dimension %" PRIu64
                         "; it belongs to another tensor",
                         amped_format_mode(where, sizeof where, m, &labels[m]), start->dims[m],
                         plan->dims[m]);
  if (model != NULL)
    AMPED_TRY(amped_completion_file_read(o->init, start->order, start->dims, true, model));
  return match_rows(o, plan, labels, start, model);
}
