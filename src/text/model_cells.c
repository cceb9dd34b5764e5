/* Model cells: translating indices of another tensor to the model's. */
#include "text/model_cells.h"

#include <string.h>

#include "text/index_match.h"

/* The index of an axis' label with this value; AMPED_PREDICTOR_COLD: there is none, or more than
 * one. */
static uint64_t index_with(const amped_labels *axis, double value) {
  uint64_t found = AMPED_PREDICTOR_COLD;
  uint64_t count = 0;
  double other = 0.0;
  for (uint64_t i = 0; i < axis->count; i++) {
    uint64_t have = 0;
    const char *label = amped_label(axis, i, &have);
    if (!amped_index_value_of(label, have, &other) || other != value)
      continue;
    found = i;
    count++;
  }
  return count == 1 ? found : AMPED_PREDICTOR_COLD;
}

/* The index of an axis' label with the value of this text, or with its value at the axis' digits.
 * AMPED_PREDICTOR_COLD: there is none, or more than one. */
static uint64_t index_of_value(const amped_labels *axis, const char *text, uint64_t length) {
  double value = 0.0;
  if (!amped_index_value_of(text, length, &value))
    return AMPED_PREDICTOR_COLD;
  const uint64_t found = index_with(axis, value);
  return found != AMPED_PREDICTOR_COLD
             ? found
             : index_with(axis, amped_index_rounded(value, amped_index_axis_digits(axis)));
}

void amped_model_index(const amped_labels *labels, uint64_t dim, const char *text, uint64_t length,
                       uint64_t *index) {
  *index = AMPED_PREDICTOR_COLD;
  if (labels->count == 0)
    *index = amped_index_of_number(labels, dim, text, length);
  for (uint64_t i = 0; i < labels->count && *index == AMPED_PREDICTOR_COLD; i++) {
    uint64_t have = 0;
    const char *label = amped_label(labels, i, &have);
    if (have == length && memcmp(label, text, length) == 0)
      *index = i;
  }
  if (*index == AMPED_PREDICTOR_COLD && labels->of_array)
    *index = index_of_value(labels, text, length);
}

/* Translate the indices of a mode. Returns how many of them the model has. */
static uint64_t translate_mode(const amped_index_match *match, uint64_t count, uint64_t *indices) {
  uint64_t found = 0;
#pragma omp parallel for schedule(static) reduction(+ : found)
  for (uint64_t i = 0; i < count; i++) {
    indices[i] = amped_index_match_find(match, indices[i]);
    found += indices[i] != AMPED_INDEX_UNKNOWN;
  }
  return found;
}

amped_status amped_model_cells_translate(const char *model_path, const amped_ktensor *model,
                                         const char *path, bool keys_named, const bool *needed,
                                         amped_sptensor *t) {
  const amped_index_side known = {model_path, model->order, model->dims, model->labels};
  const amped_index_side file = {path, t->order, t->dims, t->labels};
  _Static_assert(AMPED_INDEX_UNKNOWN == AMPED_PREDICTOR_COLD, "one number for no index");
  AMPED_TRY(amped_index_match_check_cells(&known, &file));
  if (!keys_named)
    amped_index_match_warn_names(&known, &file);
  for (int m = 0; m < t->order; m++) {
    amped_index_match match;
    AMPED_TRY(amped_index_match_create(&known, &file, m, &match));
    amped_index_match_say(&known, &file, m, &match);
    const uint64_t found = translate_mode(&match, t->nnz, t->indices[m]);
    amped_index_match_free(&match);
    if (needed != NULL && needed[m] && found == 0 && t->nnz > 0)
      return amped_index_match_refuse(&known, &file, m, t->nnz);
  }
  return AMPED_OK;
}
