/* Compaction: sorted lists of the used indices, and their renumbering. */
#include "tensor/compaction.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/sort.h"

/* Bytes of an index as text, with its null. */
#define ID_BYTES 21

/* Sorts values and removes repeats. *out = number of distinct values. */
static amped_status make_unique(uint64_t *values, uint64_t count, uint64_t *out) {
  const amped_sort_field field = {values, amped_sort_bits(values, count)};
  void *array = values;
  uint64_t n = 0;
  AMPED_TRY(amped_sort(count, &field, 1, 0, &array, 1));
  for (uint64_t k = 0; k < count; k++)
    if (k == 0 || values[k] != values[n - 1])
      values[n++] = values[k];
  *out = n;
  return AMPED_OK;
}

/* Merges a and b, both ascending, into one ascending list without repeats; returns its length. */
static uint64_t join(const uint64_t *a, uint64_t a_count, const uint64_t *b, uint64_t b_count,
                     uint64_t *out) {
  uint64_t i = 0;
  uint64_t k = 0;
  uint64_t n = 0;
  while (i < a_count || k < b_count) {
    const bool first = k == b_count || (i < a_count && a[i] <= b[k]);
    const uint64_t value = first ? a[i] : b[k];
    i += i < a_count && a[i] == value;
    k += k < b_count && b[k] == value;
    out[n++] = value;
  }
  return n;
}

static amped_status add_mode(amped_compaction *c, const amped_sptensor *t, int m) {
  uint64_t *fresh = NULL;
  uint64_t *joined = NULL;
  uint64_t count = 0;
  uint64_t total = 0;
  amped_status status = AMPED_OK;
  AMPED_TRY(amped_alloc(&fresh, t->nnz, sizeof *fresh, "the indices that are used"));
  memcpy(fresh, t->indices[m], t->nnz * sizeof *fresh);
  AMPED_GO(done, make_unique(fresh, t->nnz, &count));
  if (!amped_add(c->count[m], count, &total))
    total = UINT64_MAX; /* the allocation reports this */
  AMPED_GO(done, amped_alloc(&joined, total, sizeof *joined, "the indices that are used"));
  c->count[m] = join(c->used[m], c->count[m], fresh, count, joined);
  amped_free(c->used[m]);
  c->used[m] = joined;
done:
  amped_free(fresh);
  return status;
}

amped_status amped_compaction_add(amped_compaction *c, const amped_sptensor *t) {
  for (int m = 0; m < t->order && t->nnz > 0; m++)
    AMPED_TRY(add_mode(c, t, m));
  return AMPED_OK;
}

/* The place of a value in the ascending list, which must contain it. */
static uint64_t place_of(const uint64_t *list, uint64_t count, uint64_t value) {
  uint64_t first = 0;
  while (count > 1) {
    const uint64_t half = count / 2;
    if (list[first + half] <= value)
      first += half;
    count -= half;
  }
  return first;
}

void amped_compaction_apply(const amped_compaction *c, amped_sptensor *t) {
  for (int m = 0; m < t->order; m++) {
    uint64_t *indices = t->indices[m];
#pragma omp parallel for schedule(static)
    for (uint64_t k = 0; k < t->nnz; k++)
      indices[k] = place_of(c->used[m], c->count[m], indices[k]);
  }
}

/* Bytes of the remaining labels; an index has at most ID_BYTES. */
static uint64_t label_bytes(const amped_labels *labels, const uint64_t *used, uint64_t count) {
  uint64_t bytes = 0;
  uint64_t length = 0;
  for (uint64_t i = 0; i < count; i++) {
    length = ID_BYTES;
    if (labels->count > 0)
      (void)amped_label(labels, used[i], &length);
    bytes += length;
  }
  return bytes > 0 ? bytes : 1;
}

static amped_status keep_labels(amped_labels *labels, const uint64_t *used, uint64_t count) {
  amped_labels kept = {.count = count,
                       .from_zero = labels->from_zero,
                       .are_indices = labels->count == 0 || labels->are_indices,
                       .period = labels->period};
  char id[ID_BYTES];
  uint64_t at = 0;
  uint64_t length = 0;
  amped_status status = AMPED_OK;
  AMPED_GO(fail, amped_alloc(&kept.offsets, count + 1, sizeof *kept.offsets, "labels"));
  AMPED_GO(fail, amped_alloc(&kept.bytes, label_bytes(labels, used, count), 1, "labels"));
  for (uint64_t i = 0; i < count; i++) {
    const char *text = id;
    kept.offsets[i] = at;
    if (labels->count > 0)
      text = amped_label(labels, used[i], &length);
    else
      length = (uint64_t)snprintf(id, sizeof id, "%" PRIu64, amped_label_number(labels, used[i]));
    memcpy(kept.bytes + at, text, length);
    at += length;
  }
  kept.offsets[count] = at;
  kept.name = labels->name;
  labels->name = NULL;
  amped_labels_free(labels);
  *labels = kept;
  return AMPED_OK;
fail:
  amped_labels_free(&kept);
  return status;
}

amped_status amped_compaction_labels(const amped_compaction *c, amped_sptensor *t) {
  for (int m = 0; m < t->order; m++) {
    if (c->count[m] < t->dims[m])
      AMPED_TRY(keep_labels(&t->labels[m], c->used[m], c->count[m]));
    t->dims[m] = c->count[m];
  }
  return AMPED_OK;
}

void amped_compaction_free(amped_compaction *c) {
  for (int m = 0; m < AMPED_MAX_ORDER; m++)
    amped_free(c->used[m]);
  memset(c, 0, sizeof *c);
}
