#include "text/model_cells.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "tensor/format.h"
#include "text/intern.h"
#include "text/io_number.h"
#include "text/label_join.h"

/* A whole number from 1 to dim, as the index before it. */
static uint64_t index_of_number(const char *text, uint64_t length, uint64_t dim) {
  char digits[AMPED_NUMBER_BYTES];
  uint64_t n = 0;
  if (length == 0 || length >= sizeof digits)
    return AMPED_PREDICTOR_COLD;
  memcpy(digits, text, length);
  digits[length] = '\0';
  const char *end = amped_number_u64(digits, &n);
  return end == digits + length && n >= 1 && n <= dim ? n - 1 : AMPED_PREDICTOR_COLD;
}

void amped_model_index(const amped_labels *labels, uint64_t dim, const char *text, uint64_t length,
                       uint64_t *index) {
  *index = AMPED_PREDICTOR_COLD;
  if (labels->count == 0)
    *index = index_of_number(text, length, dim);
  for (uint64_t i = 0; i < labels->count && *index == AMPED_PREDICTOR_COLD; i++) {
    uint64_t have = 0;
    const char *label = amped_label(labels, i, &have);
    if (have == length && memcmp(label, text, length) == 0)
      *index = i;
  }
}

static bool is_named(const amped_labels *labels, const char *text, uint64_t length) {
  return labels->name != NULL && strlen(labels->name) == length &&
         memcmp(labels->name, text, length) == 0;
}

/* A column in another mode's place gives numbers, and wrong ones. */
static amped_status check_names(const char *model_path, const amped_ktensor *model,
                                const char *path, const amped_sptensor *t) {
  char theirs[128];
  char ours[128];
  for (int m = 0; m < t->order; m++) {
    const char *name = t->labels[m].name;
    if (name == NULL || is_named(&model->labels[m], name, strlen(name)))
      continue;
    for (int other = 0; other < model->order; other++)
      if (is_named(&model->labels[other], name, strlen(name)))
        return amped_error(AMPED_BAD_INPUT, path,
                           "mode %d is called %s, but that is mode %d of %s, whose mode %d is %s; "
                           "name the columns in that order with --keys",
                           m + 1, amped_format_name(theirs, sizeof theirs, &t->labels[m]),
                           other + 1, model_path, m + 1,
                           amped_format_name(ours, sizeof ours, &model->labels[m]));
  }
  return AMPED_OK;
}

/* map[i] = the model's index of the tensor's label i. */
static amped_status map_labels(const char *model_path, const amped_ktensor *model, int mode,
                               const amped_labels *labels, uint64_t **map) {
  amped_label_join join = {NULL, 0};
  if (model->labels[mode].count > 0) {
    AMPED_TRY(amped_label_join_find(labels, &model->labels[mode], &join));
    if (join.rows == NULL)
      return amped_error(
          AMPED_BAD_INPUT, model_path,
          "labels of mode %d repeat, here or in the cells that are asked for, and tell no index; "
          "name indices, in text (.tns)",
          mode + 1);
    *map = join.rows; /* AMPED_MATCH_NO_ROW is AMPED_PREDICTOR_COLD */
    return AMPED_OK;
  }
  AMPED_TRY(amped_alloc(map, labels->count, sizeof **map, "the places of labels"));
  for (uint64_t i = 0; i < labels->count; i++) {
    uint64_t length = 0;
    const char *text = amped_label(labels, i, &length);
    (*map)[i] = index_of_number(text, length, model->dims[mode]);
  }
  return AMPED_OK;
}

static void translate_mode(const uint64_t *map, uint64_t dim, uint64_t count, uint64_t *indices) {
#pragma omp parallel for schedule(static)
  for (uint64_t i = 0; i < count; i++)
    indices[i] = map != NULL        ? map[indices[i]]
                 : indices[i] < dim ? indices[i]
                                    : AMPED_PREDICTOR_COLD;
}

amped_status amped_model_cells_translate(const char *model_path, const amped_ktensor *model,
                                         const char *path, amped_sptensor *t) {
  _Static_assert(AMPED_MATCH_NO_ROW == AMPED_PREDICTOR_COLD, "one number for no index");
  if (t->order != model->order)
    return amped_error(AMPED_BAD_INPUT, path,
                       "has %d modes, but the model of %s has %d; name its columns with --keys, "
                       "or another file",
                       t->order, model_path, model->order);
  AMPED_TRY(check_names(model_path, model, path, t));
  for (int m = 0; m < t->order; m++) {
    uint64_t *map = NULL;
    if (t->labels[m].count > 0)
      AMPED_TRY(map_labels(model_path, model, m, &t->labels[m], &map));
    translate_mode(map, model->dims[m], t->nnz, t->indices[m]);
    amped_free(map);
  }
  return AMPED_OK;
}
