#include "load/batch_indices.h"

#include <string.h>

#include "base/mem.h"
#include "base/printable.h"
#include "tensor/format.h"
#include "text/io_number.h"

#define NO_INDEX UINT64_MAX

static uint64_t find(const amped_intern *in, const char *text, uint64_t length) {
  return amped_intern_find(in, amped_intern_hash(text, length), text, length);
}

static amped_status add(amped_intern *in, const char *text, uint64_t length, uint64_t *id) {
  return amped_intern_add(in, amped_intern_hash(text, length), text, length, id);
}

/* --- life ------------------------------------------------------------------------------------- */

static amped_status take_mode(amped_batch_indices *x, int mode, const amped_labels *labels) {
  uint64_t length = 0;
  uint64_t id = 0;
  x->labelled[mode] = labels->count > 0;
  if (labels->name != NULL)
    AMPED_TRY(amped_strdup(&x->names[mode], labels->name));
  for (uint64_t i = 0; i < labels->count; i++) {
    const char *text = amped_label(labels, i, &length);
    AMPED_TRY(add(&x->labels[mode], text, length, &id));
    if (id != i)
      return amped_error(AMPED_BAD_INPUT, x->path,
                         "labels of mode %d repeat, and tell no row to new entries; name indices, "
                         "in text (.tns)",
                         mode + 1);
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

static amped_status check_name(const amped_batch_indices *x, const char *name, int mode,
                               const amped_labels *labels) {
  char theirs[128];
  char ours[128] = "without name";
  if (labels->name == NULL || x->names[mode] == NULL || strcmp(labels->name, x->names[mode]) == 0)
    return AMPED_OK;
  for (int other = 0; other < x->order; other++)
    if (x->names[other] != NULL && strcmp(labels->name, x->names[other]) == 0)
      return amped_error(AMPED_BAD_INPUT, name,
                         "mode %d is called %s, but that is mode %d of %s, whose mode %d is %s; "
                         "name the columns in that order with --keys",
                         mode + 1, amped_format_name(theirs, sizeof theirs, labels), other + 1,
                         x->path, mode + 1,
                         amped_printable_text(ours, sizeof ours, x->names[mode]));
  return AMPED_OK;
}

amped_status amped_batch_indices_check(const amped_batch_indices *x, const char *name, int order,
                                       const amped_labels *labels) {
  if (order != x->order)
    return amped_error(AMPED_BAD_INPUT, name,
                       "has %d modes, but the state of %s has %d; name its columns with --keys, or "
                       "another file",
                       order, x->path, x->order);
  for (int m = 0; m < order; m++)
    AMPED_TRY(check_name(x, name, m, &labels[m]));
  for (int m = 0; m < order; m++)
    if (x->labelled[m] && labels[m].count == 0)
      return amped_error(AMPED_BAD_INPUT, name,
                         "has no labels in mode %d, where the state of %s has some: its indices "
                         "tell no rows; name a table, or a tensor file with labels",
                         m + 1, x->path);
  return AMPED_OK;
}

/* A whole number from 1, as the index before it. */
static uint64_t index_of_number(const char *text, uint64_t length) {
  char digits[AMPED_NUMBER_BYTES];
  uint64_t n = 0;
  if (length == 0 || length >= sizeof digits)
    return NO_INDEX;
  memcpy(digits, text, length);
  digits[length] = '\0';
  const char *end = amped_number_u64(digits, &n);
  return end == digits + length && n >= 1 && n <= AMPED_MAX_DIM ? n - 1 : NO_INDEX;
}

bool amped_batch_indices_knew(const amped_batch_indices *x, int mode, const amped_labels *labels,
                              uint64_t i) {
  uint64_t length = 0;
  if (labels->count == 0)
    return i < x->known[mode];
  const char *text = amped_label(labels, i, &length);
  const uint64_t index =
      x->labelled[mode] ? find(&x->labels[mode], text, length) : index_of_number(text, length);
  return index < x->known[mode];
}

/* --- turning ---------------------------------------------------------------------------------- */

/* Which labels has the list? [count], 1: it has. */
static amped_status mark_used(const amped_labels *labels, const amped_sptensor *list, int mode,
                              unsigned char **out) {
  AMPED_TRY(amped_calloc(out, labels->count, 1, "labels of a batch"));
  for (uint64_t k = 0; k < list->nnz; k++)
    (*out)[list->indices[mode][k]] = 1;
  return AMPED_OK;
}

static amped_status refuse_label(const amped_batch_indices *x, const char *name, int mode,
                                 const amped_labels *labels, uint64_t i, const char *what) {
  char text[128];
  return amped_error(AMPED_BAD_INPUT, name, what, amped_label_text(labels, i, text, sizeof text),
                     mode + 1, x->path);
}

/* The state's index of a label; a new one is staged. */
static amped_status index_of_label(amped_batch_indices *x, const char *name, int mode,
                                   const amped_labels *labels, uint64_t i, uint64_t *out) {
  uint64_t length = 0;
  const char *text = amped_label(labels, i, &length);
  if (!x->labelled[mode]) {
    *out = index_of_number(text, length);
    return *out != NO_INDEX
               ? AMPED_OK
               : refuse_label(x, name, mode, labels, i,
                              "label %s of mode %d is no index from 1, and the state of %s has no "
                              "labels there; number that column");
  }
  *out = find(&x->labels[mode], text, length);
  if (*out != AMPED_INTERN_NONE)
    return AMPED_OK;
  AMPED_TRY(add(&x->staged[mode], text, length, out));
  *out += x->dims[mode];
  return AMPED_OK;
}

/* Two labels of one index would make one row of two. */
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
                            "label %s of mode %d comes twice, and tells no row of %s; give each "
                            "index a label of its own");
  }
  amped_intern_free(&seen);
  return status;
}

static amped_status turn_labels(amped_batch_indices *x, const char *name, int mode,
                                const amped_labels *labels, amped_sptensor *list) {
  unsigned char *used = NULL;
  uint64_t *map = NULL;
  uint64_t *indices = list->indices[mode];
  amped_status status = AMPED_OK;
  AMPED_GO(done, mark_used(labels, list, mode, &used));
  AMPED_GO(done, check_distinct(x, name, mode, labels, used));
  AMPED_GO(done, amped_alloc(&map, labels->count, sizeof *map, "labels of a batch"));
  for (uint64_t i = 0; i < labels->count; i++)
    if (used[i] != 0)
      AMPED_GO(done, index_of_label(x, name, mode, labels, i, &map[i]));
#pragma omp parallel for schedule(static)
  for (uint64_t k = 0; k < list->nnz; k++)
    indices[k] = map[indices[k]];
done:
  amped_free(used);
  amped_free(map);
  return status;
}

static uint64_t largest(const amped_sptensor *list, int mode) {
  uint64_t most = 0;
#pragma omp parallel for schedule(static) reduction(max : most)
  for (uint64_t k = 0; k < list->nnz; k++)
    most = list->indices[mode][k] > most ? list->indices[mode][k] : most;
  return most;
}

amped_status amped_batch_indices_turn(amped_batch_indices *x, const char *name,
                                      const amped_labels *labels, amped_sptensor *list) {
  amped_batch_indices_drop(x);
  for (int m = 0; m < x->order; m++) {
    if (labels[m].count > 0)
      AMPED_TRY(turn_labels(x, name, m, &labels[m], list));
    const uint64_t end = list->nnz > 0 ? largest(list, m) + 1 : 0;
    list->dims[m] = end > x->dims[m] ? end : x->dims[m];
  }
  return AMPED_OK;
}

/* --- labels ----------------------------------------------------------------------------------- */

static amped_labels view(const amped_intern *in, char *name) {
  return in->count > 0 ? (amped_labels){in->count, name, in->bytes, in->offsets}
                       : (amped_labels){.count = 0};
}

amped_labels amped_batch_indices_staged(const amped_batch_indices *x, int mode) {
  return view(&x->staged[mode], NULL);
}

amped_labels amped_batch_indices_labels(const amped_batch_indices *x, int mode) {
  return view(&x->labels[mode], x->names[mode]);
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
