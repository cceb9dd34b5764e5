#include "share.h"

#include <string.h>

#include "sptensor.h"

#define NOBODY (-1)

/* The next run of nonzeros, of at most `left`, that go to the same rank: NOBODY where they are not
 * of this walk. Steps over them. */
static uint64_t step(const amped_plan *plan, const amped_mode_plan *m, amped_share_cursor *c,
                     uint64_t left, int *rank) {
  while (c->done == m->idp_nnz[c->idp]) {
    c->split += m->splits[c->split].idp == c->idp;
    c->idp++;
    c->done = 0;
  }
  bool split = m->splits[c->split].idp == c->idp;
  uint64_t n = m->idp_nnz[c->idp] - c->done;
  *rank = m->owner[c->idp];
  if (split) {
    uint64_t number = m->splits[c->split].first + c->done;
    *rank = amped_plan_split_rank(m, plan->nranks, number);
    if (m->cuts[*rank + 1] - number < n)
      n = m->cuts[*rank + 1] - number;
  }
  if (split != c->guests)
    *rank = NOBODY;
  if (n > left)
    n = left;
  c->done += n;
  c->passed += n;
  return n;
}

void amped_share_count(const amped_plan *plan, int mode, amped_share_cursor *cursor, uint64_t count,
                       uint64_t *counts) {
  memset(counts, 0, (size_t)plan->nranks * sizeof *counts);
  while (count > 0) {
    int rank = NOBODY;
    uint64_t n = step(plan, &plan->modes[mode], cursor, count, &rank);
    if (rank != NOBODY)
      counts[rank] += n;
    count -= n;
  }
}

void amped_share_pack(const amped_tensor_info *info, const amped_plan *plan, int mode,
                      amped_share_cursor *cursor, const amped_slab *slab, const uint64_t *counts,
                      char *const *wire) {
  const amped_share_cursor begin = *cursor;
  /* One array of the slab at a time, so that it streams through the cache. */
  uint64_t before = 0; /* bytes of one nonzero in the arrays before this one */
  for (int a = 0; a <= info->order; a++) {
    bool last = a == info->order;
    uint64_t bytes = last ? (uint64_t)info->value_type : (uint64_t)info->index_types[a];
    const char *from = last ? slab->values : slab->indices[a];
    char *to[plan->nranks];
    for (int p = 0; p < plan->nranks; p++)
      to[p] = wire[p] != NULL ? wire[p] + counts[p] * before : NULL;
    *cursor = begin;
    for (uint64_t left = slab->count; left > 0;) {
      int rank = NOBODY;
      uint64_t n = step(plan, &plan->modes[mode], cursor, left, &rank);
      if (rank != NOBODY && to[rank] != NULL) {
        memcpy(to[rank], from, n * bytes);
        to[rank] += n * bytes;
      }
      from += n * bytes;
      left -= n;
    }
    before += bytes;
  }
}

/* The index of nonzero k in mode a, from the wire form. */
typedef struct wire_view {
  const char *indices[AMPED_MAX_ORDER];
  const char *values;
} wire_view;

static wire_view view_of(const amped_tensor_info *info, const char *wire, uint64_t count) {
  wire_view v;
  memset(&v, 0, sizeof v);
  for (int m = 0; m < info->order; m++) {
    v.indices[m] = wire;
    wire += count * info->index_types[m];
  }
  v.values = wire;
  return v;
}

bool amped_share_translate(const amped_tensor_info *info, const amped_plan *plan, int mode,
                           const char *wire, uint64_t count, const amped_share_buffers *buffers,
                           amped_run *run, uint64_t *hash) {
  const amped_mode_plan *out = &plan->modes[mode];
  const wire_view v = view_of(info, wire, count);
  uint64_t sum = 0;
  uint64_t strangers = 0;
#pragma omp parallel for schedule(static) reduction(+ : sum, strangers)
  for (uint64_t k = 0; k < count; k++) {
    uint64_t index[AMPED_MAX_ORDER];
    double value = amped_value_get(v.values, info->value_type, k);
    for (int m = 0, input = 0; m < info->order; m++) {
      index[m] = amped_index_get(v.indices[m], info->index_types[m], k);
      if (m != mode) {
        amped_index_put(buffers->inputs[input++], plan->index_type, k,
                        amped_plan_position(plan, m, index[m]));
        continue;
      }
      uint64_t idp = index[m] / out->width;
      strangers += out->row[idp] == AMPED_NO_ROW;
      amped_index_put(buffers->rows, plan->index_type, k,
                      out->row[idp] + (index[m] - idp * out->width));
    }
    amped_value_put(buffers->values, plan->value_type, k, value);
    sum += amped_nonzero_hash(info->order, index, value);
  }
  *hash = sum;
  run->count = count;
  run->rows = buffers->rows;
  for (int i = 0; i + 1 < info->order; i++)
    run->inputs[i] = buffers->inputs[i];
  run->values = buffers->values;
  return strangers == 0;
}
