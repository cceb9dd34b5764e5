/* Entry sample: merging new entries into the sorted sample. */
#include "tensor/entry_sample.h"

#include <math.h>
#include <stdlib.h>

#include "base/mem.h"

/* Entries of a list that are added together: few of the later parts are sorted. */
#define PART (UINT64_C(1) << 17)

/* An entry of a list. */
typedef struct entry {
  const amped_sptensor *list;
  uint64_t number;
  uint64_t hash;
} entry;

uint64_t amped_entry_sample_hash(int order, const uint64_t *index, uint64_t seed) {
  uint64_t hash = amped_mix64(seed);
  for (int m = 0; m < order; m++)
    hash = amped_hash_index(hash, index[m]);
  return hash;
}

static entry entry_of(const amped_sptensor *list, uint64_t number, uint64_t seed) {
  uint64_t index[AMPED_MAX_ORDER];
  for (int m = 0; m < list->order; m++)
    index[m] = list->indices[m][number];
  return (entry){list, number, amped_entry_sample_hash(list->order, index, seed)};
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

/* The largest hash of a cell that an entry of the sample may have: the last one's if no more fit.
 */
static uint64_t last_hash(const amped_sptensor *kept, uint64_t seed, uint64_t most) {
  return kept->nnz > 0 && kept->nnz >= most ? entry_of(kept, kept->nnz - 1, seed).hash : UINT64_MAX;
}

/* Sorts the entries first .. end of a list whose hashes are at most `last`. The caller frees *out.
 */
static amped_status sort_up_to(const amped_sptensor *list, uint64_t first, uint64_t end,
                               uint64_t seed, uint64_t last, entry **out, uint64_t *count) {
  *count = 0;
  AMPED_TRY(amped_alloc(out, end - first, sizeof **out, "a sample of entries"));
  for (uint64_t i = first; i < end; i++) {
    const entry e = entry_of(list, i, seed);
    if (e.hash <= last)
      (*out)[(*count)++] = e;
  }
  if (*count > 0)
    qsort(*out, *count, sizeof **out, compare);
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

/* Add the entries first .. end. On failure `kept` does not change. */
static amped_status add_part(amped_sptensor *kept, const amped_sptensor *more, uint64_t first,
                             uint64_t end, uint64_t seed, uint64_t most) {
  amped_sptensor out = {.order = 0};
  entry *sorted = NULL;
  uint64_t count = 0;
  amped_status status = AMPED_OK;
  AMPED_TRY(sort_up_to(more, first, end, seed, last_hash(kept, seed, most), &sorted, &count));
  if (count == 0 && kept->nnz <= most)
    goto done;
  const uint64_t room = kept->nnz + count < most ? kept->nnz + count : most;
  AMPED_GO(done, amped_sptensor_create(&out, kept->order, room));
  out.nnz = 0;
  merge(kept, sorted, count, seed, most, &out);
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

amped_status amped_entry_sample_add(amped_sptensor *kept, const amped_sptensor *more, uint64_t seed,
                                    uint64_t most) {
  uint64_t first = 0;
  if (more->nnz == 0 && kept->nnz <= most)
    return AMPED_OK;
  do { /* once for an empty list: `kept` may have too many */
    const uint64_t end = more->nnz - first < PART ? more->nnz : first + PART;
    AMPED_TRY(add_part(kept, more, first, end, seed, most));
    first = end;
  } while (first < more->nnz);
  return AMPED_OK;
}

bool amped_entry_sample_has(const amped_sptensor *kept, const uint64_t *index, uint64_t seed) {
  amped_sptensor one = {.order = kept->order, .nnz = 1};
  uint64_t copy[AMPED_MAX_ORDER];
  uint64_t low = 0;
  uint64_t high = kept->nnz;
  for (int m = 0; m < kept->order; m++) {
    copy[m] = index[m];
    one.indices[m] = &copy[m];
  }
  const entry sought = entry_of(&one, 0, seed);
  while (low < high) {
    const uint64_t middle = low + (high - low) / 2;
    const entry e = entry_of(kept, middle, seed);
    const int order = compare_cells(&e, &sought);
    if (order == 0)
      return true;
    low = order < 0 ? middle + 1 : low;
    high = order < 0 ? high : middle;
  }
  return false;
}

bool amped_entry_sample_lacks(const amped_sptensor *kept, const uint64_t *index, uint64_t seed,
                              uint64_t most) {
  return amped_entry_sample_hash(kept->order, index, seed) <= last_hash(kept, seed, most) &&
         !amped_entry_sample_has(kept, index, seed);
}

/* True if an entry of the cell of entry n has this value, up to the tolerance. Entries of a cell
 * are neighbours. */
static bool has_value(double value, double tolerance, const entry *sorted, uint64_t count,
                      uint64_t n) {
  bool found = false;
  for (uint64_t i = n; i < count && compare_cells(&sorted[n], &sorted[i]) == 0; i++)
    found = found || fabs(sorted[i].list->values[sorted[i].number] - value) <= tolerance;
  return found;
}

amped_status amped_entry_sample_compare(const amped_sptensor *kept, const amped_sptensor *more,
                                        uint64_t seed, uint64_t most, double tolerance,
                                        amped_known_cells *out) {
  entry *sorted = NULL;
  uint64_t count = 0;
  uint64_t k = 0;
  amped_status status = AMPED_OK;
  *out = (amped_known_cells){.all = kept->nnz < most};
  if (more->nnz == 0 || most == 0)
    return AMPED_OK;
  AMPED_GO(done,
           sort_up_to(more, 0, more->nnz, seed, last_hash(kept, seed, most), &sorted, &count));
  for (uint64_t n = 0; n < count; n++) {
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
    out->same += known && has_value(kept->values[k], tolerance, sorted, count, n);
  }
done:
  amped_free(sorted);
  return status;
}
