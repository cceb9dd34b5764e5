/* Held entries: merging new entries into the sorted sample. */
#include "tensor/held_entries.h"

#include <stdlib.h>

#include "base/mem.h"

/* An entry of a list. */
typedef struct entry {
  const amped_sptensor *list;
  uint64_t number;
  uint64_t hash;
} entry;

uint64_t amped_held_hash(int order, const uint64_t *index, uint64_t seed) {
  uint64_t hash = amped_mix64(seed);
  for (int m = 0; m < order; m++)
    hash = amped_hash_index(hash, index[m]);
  return hash;
}

static entry entry_of(const amped_sptensor *list, uint64_t number, uint64_t seed) {
  uint64_t index[AMPED_MAX_ORDER];
  for (int m = 0; m < list->order; m++)
    index[m] = list->indices[m][number];
  return (entry){list, number, amped_held_hash(list->order, index, seed)};
}

/* Compares the cells of two entries: negative, 0 or positive if a's cell comes before, equals or
 * comes after b's. */
static int compare_cells(const entry *a, const entry *b) {
  if (a->hash != b->hash)
    return a->hash < b->hash ? -1 : 1;
  for (int m = 0; m < a->list->order; m++) {
    const uint64_t i = a->list->indices[m][a->number];
    const uint64_t k = b->list->indices[m][b->number];
    if (i != k)
      return i < k ? -1 : 1;
  }
  return 0;
}

static int compare(const void *a, const void *b) {
  const entry *x = a;
  const entry *y = b;
  const int cells = compare_cells(x, y);
  return cells != 0 ? cells : x->number < y->number ? -1 : x->number > y->number;
}

/* Sorts all entries of a list. The caller frees *out. */
static amped_status sort_all(const amped_sptensor *list, uint64_t seed, entry **out) {
  AMPED_TRY(amped_alloc(out, list->nnz, sizeof **out, "held-out entries"));
  for (uint64_t i = 0; i < list->nnz; i++)
    (*out)[i] = entry_of(list, i, seed);
  qsort(*out, list->nnz, sizeof **out, compare);
  return AMPED_OK;
}

static void append(amped_sptensor *to, const entry *e) {
  for (int m = 0; m < to->order; m++)
    to->indices[m][to->nnz] = e->list->indices[m][e->number];
  to->values[to->nnz++] = e->list->values[e->number];
}

/* Merges two ordered lists into out, old entries before new. An entry followed by another one in
 * the same cell is skipped. */
static void merge(const amped_sptensor *kept, const entry *more, uint64_t count, uint64_t seed,
                  uint64_t most, amped_sptensor *out) {
  uint64_t k = 0;
  uint64_t n = 0;
  while (out->nnz < most && (k < kept->nnz || n < count)) {
    const entry old = k < kept->nnz ? entry_of(kept, k, seed) : (entry){NULL, 0, 0};
    while (n + 1 < count && compare_cells(&more[n], &more[n + 1]) == 0)
      n++;
    const int order = n == count ? -1 : k == kept->nnz ? 1 : compare_cells(&old, &more[n]);
    append(out, order < 0 ? &old : &more[n]);
    k += order <= 0;
    n += order >= 0;
  }
}

amped_status amped_held_entries_add(amped_sptensor *kept, const amped_sptensor *more, uint64_t seed,
                                    uint64_t most) {
  amped_sptensor out = {.order = 0};
  entry *sorted = NULL;
  amped_status status = AMPED_OK;
  const uint64_t room = kept->nnz + more->nnz < most ? kept->nnz + more->nnz : most;
  if (more->nnz == 0 && kept->nnz <= most)
    return AMPED_OK;
  AMPED_TRY(sort_all(more, seed, &sorted));
  AMPED_GO(done, amped_sptensor_create(&out, kept->order, room));
  out.nnz = 0;
  merge(kept, sorted, more->nnz, seed, most, &out);
  for (int m = 0; m < kept->order; m++) {
    amped_free(kept->indices[m]);
    kept->indices[m] = out.indices[m];
  }
  amped_free(kept->values);
  kept->values = out.values;
  kept->nnz = out.nnz;
done:
  amped_free(sorted);
  if (status != AMPED_OK)
    amped_sptensor_free(&out);
  return status;
}

/* True if an entry of the cell of entry n has this value. Entries of a cell are neighbours. */
static bool has_value(double value, const amped_sptensor *more, const entry *sorted, uint64_t n) {
  bool found = false;
  for (uint64_t i = n; i < more->nnz && compare_cells(&sorted[n], &sorted[i]) == 0; i++)
    found = found || more->values[sorted[i].number] == value;
  return found;
}

amped_status amped_held_entries_compare(const amped_sptensor *kept, const amped_sptensor *more,
                                        uint64_t seed, uint64_t most, amped_held_cells *out) {
  entry *sorted = NULL;
  uint64_t k = 0;
  memset(out, 0, sizeof *out);
  if (more->nnz == 0 || most == 0)
    return AMPED_OK;
  AMPED_TRY(sort_all(more, seed, &sorted));
  const uint64_t last = kept->nnz >= most ? entry_of(kept, kept->nnz - 1, seed).hash : UINT64_MAX;
  for (uint64_t n = 0; n < more->nnz && sorted[n].hash <= last; n++) {
    if (n > 0 && compare_cells(&sorted[n - 1], &sorted[n]) == 0)
      continue;
    int order = 1;
    for (; k < kept->nnz; k++) {
      const entry old = entry_of(kept, k, seed);
      order = compare_cells(&old, &sorted[n]);
      if (order >= 0)
        break;
    }
    const bool known = k < kept->nnz && order == 0;
    out->compared++;
    out->known += known;
    out->same += known && has_value(kept->values[k], more, sorted, n);
  }
  amped_free(sorted);
  return AMPED_OK;
}
