/* Repeats: comparison of hashes, group by group. */
#include "tensor/repeats.h"

#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/sort.h"

/* Hashes of a group, few enough for a core's cache; most groups. */
#define GROUP UINT64_C(16384)
#define MOST_GROUPS (UINT64_C(1) << 16)

/* Is nonzero k's coordinate above its predecessor's, mode 0 first? */
static bool is_above(const amped_sptensor *t, uint64_t k) {
  for (int m = 0; m < t->order; m++)
    if (t->indices[m][k] != t->indices[m][k - 1])
      return t->indices[m][k] > t->indices[m][k - 1];
  return false;
}

/* Is the list strictly ascending? Such lists need no hashes. */
static bool ascends(const amped_sptensor *t) {
  bool all = true;
#pragma omp parallel for schedule(static) reduction(&& : all)
  for (uint64_t k = 1; k < t->nnz; k++)
    all = all && is_above(t, k);
  return all;
}

static uint64_t hash_at(const amped_sptensor *t, uint64_t k) {
  uint64_t hash = amped_hash_value(0.0);
  for (int m = 0; m < t->order; m++)
    hash = amped_hash_index(hash, t->indices[m][k]);
  return hash;
}

/* Hashes of all nonzeros, grouped by their leading bits. */
typedef struct groups {
  int shift; /* right shift that leaves the leading bits */
  uint64_t count;
  int threads;
  uint64_t *places; /* [threads][count] place for a thread's next hash of each group */
  uint64_t *ends;   /* [count] */
  uint64_t *hashes; /* [nnz] */
} groups;

static uint64_t range_begin(const amped_sptensor *t, const groups *g, int thread) {
  return (uint64_t)((double)t->nnz / g->threads * thread);
}

static amped_status allocate(const amped_sptensor *t, groups *g) {
  static const char what[] = "the search for repeated coordinates";
  g->shift = 64;
  g->count = 1;
  while (g->count < MOST_GROUPS && g->count * GROUP < t->nnz) {
    g->count *= 2;
    g->shift--;
  }
  g->threads = omp_get_max_threads();
  AMPED_TRY(amped_calloc(&g->places, g->count * (uint64_t)g->threads, sizeof *g->places, what));
  AMPED_TRY(amped_calloc(&g->ends, g->count, sizeof *g->ends, what));
  return amped_alloc(&g->hashes, t->nnz, sizeof *g->hashes, what);
}

static uint64_t group_of(const groups *g, uint64_t hash) {
  return g->count > 1 ? hash >> g->shift : 0;
}

static void fill(const amped_sptensor *t, const groups *g) {
#pragma omp parallel for schedule(static, 1) num_threads(g->threads)
  for (int thread = 0; thread < g->threads; thread++) {
    uint64_t *counts = g->places + (uint64_t)thread * g->count;
    uint64_t end = thread + 1 < g->threads ? range_begin(t, g, thread + 1) : t->nnz;
    for (uint64_t k = range_begin(t, g, thread); k < end; k++)
      counts[group_of(g, hash_at(t, k))]++;
  }
  uint64_t place = 0;
  for (uint64_t i = 0; i < g->count; i++) {
    for (int thread = 0; thread < g->threads; thread++) {
      uint64_t *own = &g->places[(uint64_t)thread * g->count + i];
      const uint64_t n = *own;
      *own = place;
      place += n;
    }
    g->ends[i] = place;
  }
#pragma omp parallel for schedule(static, 1) num_threads(g->threads)
  for (int thread = 0; thread < g->threads; thread++) {
    uint64_t *places = g->places + (uint64_t)thread * g->count;
    uint64_t end = thread + 1 < g->threads ? range_begin(t, g, thread + 1) : t->nnz;
    for (uint64_t k = range_begin(t, g, thread); k < end; k++) {
      const uint64_t hash = hash_at(t, k);
      g->hashes[places[group_of(g, hash)]++] = hash;
    }
  }
}

static bool group_repeats(const groups *g, uint64_t i) {
  const uint64_t first = i > 0 ? g->ends[i - 1] : 0;
  uint64_t *hashes = g->hashes + first;
  const uint64_t count = g->ends[i] - first;
  if (count > 1)
    qsort(hashes, count, sizeof *hashes, amped_compare_counts);
  for (uint64_t k = 1; k < count; k++)
    if (hashes[k] == hashes[k - 1])
      return true;
  return false;
}

bool amped_sptensor_may_repeat(const amped_sptensor *t) {
  groups g = {0};
  bool found = false;
  if (ascends(t))
    return false;
  const bool room = allocate(t, &g) == AMPED_OK;
  if (room) {
    fill(t, &g);
#pragma omp parallel for schedule(dynamic, 1) reduction(|| : found)
    for (uint64_t i = 0; i < g.count; i++)
      found = found || group_repeats(&g, i);
  } else
    amped_status_clear(); /* the caller sorts instead */
  amped_free(g.places);
  amped_free(g.ends);
  amped_free(g.hashes);
  return found || !room;
}

amped_status amped_sptensor_repeats(const amped_sptensor *t, uint64_t *count) {
  amped_sptensor copy;
  uint64_t first = 0;
  *count = 0;
  if (!amped_sptensor_may_repeat(t))
    return AMPED_OK;
  AMPED_TRY(amped_sptensor_create(&copy, t->order, t->nnz));
  memcpy(copy.dims, t->dims, sizeof copy.dims);
  memcpy(copy.values, t->values, t->nnz * sizeof *copy.values);
  for (int m = 0; m < t->order; m++)
    memcpy(copy.indices[m], t->indices[m], t->nnz * sizeof *copy.indices[m]);
  const amped_status status = amped_sptensor_sort(&copy, 0);
  if (status == AMPED_OK)
    *count = amped_sptensor_duplicates(&copy, &first);
  amped_sptensor_free(&copy);
  return status;
}
