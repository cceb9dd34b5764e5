/* Batch indices: translation of a batch's indices and labels to the state's. */
#include "load/batch_indices.h"

#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "tensor/format.h"
#include "text/index_match.h"
#include "text/io_number.h"
#include "text/respelt.h"

static uint64_t find(const amped_intern *in, const char *text, uint64_t length) {
  return amped_intern_find(in, amped_intern_hash(text, length), text, length);
}

static amped_status add(amped_intern *in, const char *text, uint64_t length, uint64_t *id) {
  return amped_intern_add(in, amped_intern_hash(text, length), text, length, id);
}

/* --- life ------------------------------------------------------------------------------------- */

static amped_status take_mode(amped_batch_indices *x, int mode, const amped_labels *labels) {
  char where[128];
  uint64_t length = 0;
  uint64_t id = 0;
  x->labelled[mode] = labels->count > 0;
  x->periods[mode] = labels->period;
  x->are_indices[mode] = labels->are_indices || amped_labels_number_indices(labels);
  if (labels->name != NULL)
    AMPED_TRY(amped_strdup(&x->names[mode], labels->name));
  for (uint64_t i = 0; i < labels->count; i++) {
    const char *text = amped_label(labels, i, &length);
    AMPED_TRY(add(&x->labels[mode], text, length, &id));
    if (id != i)
      return amped_error(AMPED_BAD_INPUT, x->path,
                         "labels of %s repeat, so that a label does not identify a row; begin "
                         "a state from text (.tns), with indices",
                         amped_format_mode(where, sizeof where, mode, labels));
  }
  return AMPED_OK;
}

amped_status amped_batch_indices_create(const char *path, int order, const uint64_t *dims,
                                        const uint64_t *known, const amped_labels *labels,
                                        amped_batch_indices *out) {
  amped_status status = AMPED_OK;
  memset(out, 0, sizeof *out);
  out->path = path;
  out->order = order;
  out->from_zero = labels[0].from_zero;
  out->by = -1;
  for (int m = 0; m < order && status == AMPED_OK; m++) {
    out->dims[m] = dims[m];
    out->known[m] = known[m];
    status = take_mode(out, m, &labels[m]);
  }
  if (status != AMPED_OK)
    amped_batch_indices_free(out);
  return status;
}

void amped_batch_indices_free(amped_batch_indices *x) {
  for (int m = 0; m < AMPED_MAX_ORDER; m++) {
    amped_free(x->names[m]);
    amped_intern_free(&x->labels[m]);
    amped_intern_free(&x->staged[m]);
  }
  memset(x, 0, sizeof *x);
}

/* --- checks ----------------------------------------------------------------------------------- */

amped_status amped_batch_indices_check(amped_batch_indices *x, const char *name, int order,
                                       const amped_labels *labels) {
  char where[128];
  bool is_label[AMPED_MAX_ORDER] = {false};
  amped_labels ours[AMPED_MAX_ORDER];
  const amped_index_side known = {x->path, x->order, x->dims, ours};
  const amped_index_side batch = {name, order, x->dims, labels};
  for (int m = 0; m < x->order; m++)
    ours[m] = (amped_labels){.name = x->names[m]};
  AMPED_TRY(amped_index_match_check(&known, &batch));
  for (int m = 0; m < x->order; m++)
    is_label[m] = x->labelled[m] && amped_labels_are_named(&labels[m]) &&
                  find(&x->labels[m], labels[m].name, strlen(labels[m].name)) != AMPED_INTERN_NONE;
  AMPED_TRY(amped_index_match_refuse_header(&known, &batch, is_label));
  if (!x->names_compared)
    amped_index_match_warn_names(&known, &batch);
  x->names_compared = true;
  for (int m = 0; m < order; m++)
    if (x->labelled[m] && labels[m].count == 0 && !x->are_indices[m])
      return amped_error(AMPED_BAD_INPUT, name,
                         "has no labels in %s, but the state of %s has labels: indices do not "
                         "identify rows; name a table, or a tensor file with labels",
                         amped_format_mode(where, sizeof where, m, &ours[m]), x->path);
  return AMPED_OK;
}

/* Returns the state's index of a text, or AMPED_INDEX_UNKNOWN. */
static uint64_t index_of(const amped_batch_indices *x, int mode, const char *text,
                         uint64_t length) {
  const amped_labels numbers = {.from_zero = x->from_zero};
  if (!x->labelled[mode])
    return amped_index_of_number(&numbers, AMPED_MAX_DIM, text, length);
  const uint64_t id = find(&x->labels[mode], text, length);
  return id == AMPED_INTERN_NONE ? AMPED_INDEX_UNKNOWN : id;
}

/* Prints index i of a batch without labels, as the state counts. */
static uint64_t number_text(const amped_batch_indices *x, uint64_t i, char *text) {
  return (uint64_t)amped_number_print_u64(text, x->from_zero ? i : i + 1);
}

/* Label i of a batch, as the state counts. */
static uint64_t label_text(const amped_batch_indices *x, int mode, const amped_labels *labels,
                           uint64_t i, char buffer[AMPED_LABEL_DIGITS], const char **text) {
  const bool counts = !x->labelled[mode] || x->are_indices[mode];
  return amped_label_as_counted(labels, i, counts ? x->from_zero : labels->from_zero, buffer, text);
}

uint64_t amped_batch_indices_of(const amped_batch_indices *x, int mode, const amped_labels *labels,
                                uint64_t i) {
  char number[AMPED_NUMBER_BYTES];
  const char *text = number;
  uint64_t length = 0;
  if (labels->count == 0 && !x->labelled[mode])
    return i;
  if (labels->count > 0)
    length = label_text(x, mode, labels, i, number, &text);
  else
    length = number_text(x, i, number);
  return index_of(x, mode, text, length);
}

/* --- translation ------------------------------------------------------------------------------ */

/* Are the labels of two modes one list? */
static bool is_one_list(const amped_labels *a, const amped_labels *b) {
  if (a->count == 0 || a->count != b->count)
    return false;
  const uint64_t bytes = a->offsets[a->count];
  return memcmp(a->offsets, b->offsets, (a->count + 1) * sizeof *a->offsets) == 0 &&
         memcmp(a->bytes, b->bytes, bytes) == 0;
}

/* Do two modes share their labels (--same-labels), in the state and in the batch? */
static bool is_one_set(const amped_batch_indices *x, const amped_labels *labels, int a, int b) {
  const amped_labels ours = amped_batch_indices_labels(x, a);
  const amped_labels theirs = amped_batch_indices_labels(x, b);
  return is_one_list(&ours, &theirs) && is_one_list(&labels[a], &labels[b]);
}

/* Marks the labels that the list uses in a mode, or in a mode with the same set of labels:
 * (*out)[label] = 1. The caller frees *out. */
static amped_status mark_used(const amped_batch_indices *x, const amped_labels *labels,
                              const amped_sptensor *list, int mode, unsigned char **out) {
  AMPED_TRY(amped_calloc(out, labels[mode].count, 1, "labels of a batch"));
  for (int m = 0; m < x->order; m++)
    if (m == mode || is_one_set(x, labels, m, mode))
      for (uint64_t k = 0; k < list->nnz; k++)
        (*out)[list->indices[m][k]] = 1;
  return AMPED_OK;
}

static amped_status refuse_label(const amped_batch_indices *x, const char *name, int mode,
                                 const amped_labels *labels, uint64_t i, const char *what) {
  char text[128];
  char where[128];
  const amped_labels ours = {.name = x->names[mode]};
  return amped_error(AMPED_BAD_INPUT, name, what, amped_label_text(labels, i, text, sizeof text),
                     amped_format_mode(where, sizeof where, mode, &ours), x->path);
}

/* Finds the state's index of a text; stages a new label. */
static amped_status find_or_stage(amped_batch_indices *x, int mode, const char *text,
                                  uint64_t length, uint64_t *out) {
  *out = index_of(x, mode, text, length);
  if (*out != AMPED_INDEX_UNKNOWN || !x->labelled[mode])
    return AMPED_OK;
  AMPED_TRY(add(&x->staged[mode], text, length, out));
  *out += x->dims[mode];
  return AMPED_OK;
}

static amped_status index_of_label(amped_batch_indices *x, const char *name, int mode,
                                   const amped_labels *labels, uint64_t i, uint64_t *out) {
  char buffer[AMPED_LABEL_DIGITS];
  const char *text = NULL;
  const uint64_t length = label_text(x, mode, labels, i, buffer, &text);
  AMPED_TRY(find_or_stage(x, mode, text, length, out));
  return *out != AMPED_INDEX_UNKNOWN
             ? AMPED_OK
             : refuse_label(x, name, mode, labels, i,
                            x->from_zero
                                ? "label %s of %s is not an index from 0, and the state of %s "
                                  "has no labels in that mode; put indices into that column"
                                : "label %s of %s is not an index from 1, and the state of %s "
                                  "has no labels in that mode; put indices into that column");
}

/* Refuses equal labels of two indices, which would merge two rows into one. */
static amped_status check_distinct(const amped_batch_indices *x, const char *name, int mode,
                                   const amped_labels *labels, const unsigned char *used) {
  amped_intern seen = {0};
  amped_status status = AMPED_OK;
  uint64_t length = 0;
  uint64_t id = 0;
  uint64_t count = 0;
  for (uint64_t i = 0; i < labels->count && status == AMPED_OK; i++) {
    if (used[i] == 0)
      continue;
    const char *text = amped_label(labels, i, &length);
    status = add(&seen, text, length, &id);
    if (status == AMPED_OK && id != count++)
      status = refuse_label(x, name, mode, labels, i,
                            "label %s of %s occurs twice, and does not identify a row of %s; "
                            "give each index its own label");
  }
  amped_intern_free(&seen);
  return status;
}

static amped_status translate_labels(amped_batch_indices *x, const char *name, int mode,
                                     const amped_labels *labels, const unsigned char *used,
                                     amped_sptensor *list) {
  uint64_t *map = NULL;
  uint64_t *indices = list->indices[mode];
  amped_status status = AMPED_OK;
  AMPED_GO(done, check_distinct(x, name, mode, labels, used));
  AMPED_GO(done, amped_alloc(&map, labels->count, sizeof *map, "labels of a batch"));
  for (uint64_t i = 0; i < labels->count; i++)
    map[i] = AMPED_INDEX_UNKNOWN;
  for (uint64_t k = 0; k < list->nnz && mode == x->by; k++)
    if (map[indices[k]] == AMPED_INDEX_UNKNOWN)
      AMPED_GO(done, index_of_label(x, name, mode, labels, indices[k], &map[indices[k]]));
  for (uint64_t i = 0; i < labels->count; i++)
    if (used[i] != 0 && map[i] == AMPED_INDEX_UNKNOWN)
      AMPED_GO(done, index_of_label(x, name, mode, labels, i, &map[i]));
#pragma omp parallel for schedule(static)
  for (uint64_t k = 0; k < list->nnz; k++)
    indices[k] = map[indices[k]];
done:
  amped_free(map);
  return status;
}

/* Translates indices that are labels of the state. */
static amped_status translate_numbers(amped_batch_indices *x, int mode, amped_sptensor *list) {
  char text[AMPED_NUMBER_BYTES];
  uint64_t *indices = list->indices[mode];
  for (uint64_t k = 0; k < list->nnz; k++)
    AMPED_TRY(find_or_stage(x, mode, text, number_text(x, indices[k], text), &indices[k]));
  return AMPED_OK;
}

static uint64_t largest(const amped_sptensor *list, int mode) {
  uint64_t most = 0;
#pragma omp parallel for schedule(static) reduction(max : most)
  for (uint64_t k = 0; k < list->nnz; k++)
    most = list->indices[mode][k] > most ? list->indices[mode][k] : most;
  return most;
}

/* Warn if new labels of a mode are dates or times that the state writes otherwise. A mode of more
 * labels would cost more than the batch. */
#define MOST_TIMES (UINT64_C(1) << 16)
static amped_status warn_of_times(const amped_batch_indices *x, const char *name, int mode,
                                  const amped_labels *ours, const amped_labels *staged) {
  amped_labels all = {.count = 0};
  char where[128];
  if (staged->count == 0 || ours->count + staged->count > MOST_TIMES ||
      x->periods[mode] != AMPED_PERIOD_NONE)
    return AMPED_OK;
  AMPED_TRY(amped_labels_join(ours, staged, &all));
  const amped_status status = amped_respelt_warn_times(
      &all, ours->count, name, amped_format_mode(where, sizeof where, mode, ours));
  amped_labels_free(&all);
  return status;
}

/* Warn if most new labels of a mode are labels of the state in another spelling. */
static amped_status warn_of_respelt(const amped_batch_indices *x, const char *name, int mode) {
  const amped_labels staged = amped_batch_indices_staged(x, mode);
  const amped_labels ours = amped_batch_indices_labels(x, mode);
  const amped_respelt r = amped_respelt_compare(&staged, NULL, 0, &x->labels[mode]);
  char text[2][128];
  char where[128];
  if (amped_respelt_are_most(&r))
    amped_warn("%s: %" PRIu64 " of %" PRIu64 " new labels of %s are labels of %s in another "
               "spelling, such as %s for %s, and become new rows; " AMPED_RESPELT_REMEDY,
               name, r.count, r.asked, amped_format_mode(where, sizeof where, mode, &ours), x->path,
               amped_label_text(&staged, r.new_label, text[0], sizeof text[0]),
               amped_label_text(&ours, r.known_label, text[1], sizeof text[1]));
  return warn_of_times(x, name, mode, &ours, &staged);
}

amped_status amped_batch_indices_translate(amped_batch_indices *x, const char *name,
                                           const amped_labels *labels, amped_sptensor *list) {
  unsigned char *used[AMPED_MAX_ORDER] = {NULL};
  amped_status status = AMPED_OK;
  amped_batch_indices_drop(x);
  for (int m = 0; m < x->order; m++)
    if (labels[m].count > 0)
      AMPED_GO(done, mark_used(x, labels, list, m, &used[m]));
  for (int m = 0; m < x->order; m++) {
    if (labels[m].count > 0)
      AMPED_GO(done, translate_labels(x, name, m, &labels[m], used[m], list));
    else if (x->labelled[m])
      AMPED_GO(done, translate_numbers(x, m, list));
    const uint64_t end = list->nnz > 0 ? largest(list, m) + 1 : 0;
    const uint64_t all = x->dims[m] + x->staged[m].count; /* also labels of its set */
    list->dims[m] = end > all ? end : all;
  }
  for (int m = 0; m < x->order; m++)
    AMPED_GO(done, warn_of_respelt(x, name, m));
done:
  for (int m = 0; m < x->order; m++)
    amped_free(used[m]);
  return status;
}

/* --- labels ----------------------------------------------------------------------------------- */

static amped_labels view(const amped_intern *in, char *name) {
  return in->count == 0
             ? (amped_labels){.count = 0}
             : (amped_labels){
                   .count = in->count, .name = name, .bytes = in->bytes, .offsets = in->offsets};
}

amped_labels amped_batch_indices_staged(const amped_batch_indices *x, int mode) {
  return view(&x->staged[mode], NULL);
}

amped_labels amped_batch_indices_labels(const amped_batch_indices *x, int mode) {
  amped_labels labels = view(&x->labels[mode], x->names[mode]);
  labels.from_zero = x->from_zero;
  labels.are_indices = x->labelled[mode] && x->are_indices[mode];
  labels.period = x->periods[mode];
  return labels;
}

amped_status amped_batch_indices_accept(amped_batch_indices *x, const uint64_t *dims) {
  for (int m = 0; m < x->order; m++) {
    const amped_labels staged = amped_batch_indices_staged(x, m);
    for (uint64_t i = 0; i < staged.count; i++) {
      uint64_t length = 0;
      uint64_t id = 0;
      const char *text = amped_label(&staged, i, &length);
      AMPED_TRY(add(&x->labels[m], text, length, &id));
    }
    x->dims[m] = dims[m];
  }
  amped_batch_indices_drop(x);
  return AMPED_OK;
}

void amped_batch_indices_drop(amped_batch_indices *x) {
  for (int m = 0; m < x->order; m++)
    amped_intern_clear(&x->staged[m]);
}
