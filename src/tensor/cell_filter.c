/* Cell filter: a sorted list of cells, and binary search. */
#include "tensor/cell_filter.h"

#include <string.h>

#include "base/mem.h"

/* Remove repeated cells of the sorted list. */
static void keep_distinct(amped_cell_filter *f) {
  uint64_t kept = 0;
  for (uint64_t i = 0; i < f->count; i++) {
    bool same = i > 0 && f->of[i] == f->of[kept - 1];
    for (int k = 0; k < f->nkeys; k++)
      same = same && f->columns[k][i] == f->columns[k][kept - 1];
    if (same)
      continue;
    for (int k = 0; k < f->nkeys; k++)
      f->columns[k][kept] = f->columns[k][i];
    f->of[kept++] = f->of[i];
  }
  f->count = kept;
}

amped_status amped_cell_filter_create(amped_sptensor *t, const bool *is_key, int of,
                                      amped_cell_filter *f) {
  amped_sort_field fields[AMPED_MAX_ORDER];
  void *arrays[AMPED_MAX_ORDER];
  *f = (amped_cell_filter){.count = t->nnz};
  for (int m = 0; m < t->order; m++)
    if (is_key[m]) {
      f->keys[f->nkeys] = m;
      f->columns[f->nkeys++] = t->indices[m];
      t->indices[m] = NULL;
    }
  f->of = t->indices[of];
  t->indices[of] = NULL;
  for (int k = 0; k <= f->nkeys; k++) {
    uint64_t *values = k < f->nkeys ? f->columns[k] : f->of;
    fields[k] = (amped_sort_field){values, amped_sort_bits(values, f->count)};
    arrays[k] = values;
  }
  amped_status status =
      f->count > 0 ? amped_sort(f->count, fields, f->nkeys + 1, 0, arrays, f->nkeys + 1) : AMPED_OK;
  if (status == AMPED_OK)
    keep_distinct(f);
  else
    amped_cell_filter_free(f);
  return status;
}

void amped_cell_filter_free(amped_cell_filter *f) {
  for (int k = 0; k < AMPED_MAX_ORDER; k++)
    amped_free(f->columns[k]);
  amped_free(f->of);
  memset(f, 0, sizeof *f);
}

/* Compare the keys of place `at` with cell i: below 0, 0, or above 0. */
static int compare(const amped_cell_filter *f, uint64_t at, uint64_t *const *indices, uint64_t i) {
  for (int k = 0; k < f->nkeys; k++) {
    const uint64_t have = f->columns[k][at];
    const uint64_t want = indices[f->keys[k]][i];
    if (have != want)
      return have < want ? -1 : 1;
  }
  return 0;
}

/* The first place whose keys are not below (after: above) cell i's. */
static uint64_t bound(const amped_cell_filter *f, uint64_t *const *indices, uint64_t i,
                      bool after) {
  uint64_t low = 0;
  uint64_t high = f->count;
  while (low < high) {
    const uint64_t middle = low + (high - low) / 2;
    const int order = compare(f, middle, indices, i);
    if (order < 0 || (after && order == 0))
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

uint64_t amped_cell_filter_find(const amped_cell_filter *f, uint64_t *const *indices, uint64_t i,
                                uint64_t *first) {
  *first = bound(f, indices, i, false);
  return bound(f, indices, i, true) - *first;
}
