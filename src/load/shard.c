/* Shard: counting, packing and translating the nonzeros of a slab, rank by rank. */
#include "load/shard.h"

#include <string.h>

#include "tensor/sptensor.h"

#define NOBODY (-1)

/* Advances over the next nonzeros of one rank, at most `left`, and returns their number. *rank is
 * NOBODY if this traversal skips them. */
static uint64_t step(const amped_plan *plan, const amped_mode_plan *m, amped_shard_cursor *c,
                     uint64_t left, int *rank) {
  while (c->done == m->copy.idp_nnz[c->idp]) {
    c->split += m->copy.splits[c->split].idp == c->idp;
    c->idp++;
    c->done = 0;
  }
  bool split = m->copy.splits[c->split].idp == c->idp;
  uint64_t n = m->copy.idp_nnz[c->idp] - c->done;
  *rank = m->rows.owner[c->idp];
  if (split) {
    uint64_t number = m->copy.splits[c->split].first + c->done;
    *rank = amped_plan_split_rank(m, plan->nranks, number);
    if (m->copy.cuts[*rank + 1] - number < n)
      n = m->copy.cuts[*rank + 1] - number;
  }
  if (split != c->shared)
    *rank = NOBODY;
  if (n > left)
    n = left;
  c->done += n;
  c->passed += n;
  return n;
}

void amped_shard_count(const amped_plan *plan, int mode, amped_shard_cursor *cursor, uint64_t count,
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

/* Order of the arrays in a wire form. arrays[i] = mode of the i-th array, or info->order for the
 * values; bytes[i] = bytes of its elements. */
static void order_arrays(const amped_tensor_info *info, int *arrays, uint64_t *bytes) {
  int n = 0;
  for (uint64_t size = 8; size > 0; size /= 2)
    for (int a = 0; a <= info->order; a++) {
      uint64_t own = a == info->order ? (uint64_t)info->value_type : (uint64_t)info->index_types[a];
      if (own == size) {
        bytes[n] = size;
        arrays[n++] = a;
      }
    }
}

/* Copies one array of a slab to the ranks' wire forms, and advances the cursor over the slab. */
static void pack_array(const amped_plan *plan, int mode, amped_shard_cursor *cursor, uint64_t count,
                       const char *from, uint64_t bytes, char **to) {
  for (uint64_t left = count; left > 0;) {
    int rank = NOBODY;
    uint64_t n = step(plan, &plan->modes[mode], cursor, left, &rank);
    if (rank != NOBODY && to[rank] != NULL) {
      memcpy(to[rank], from, n * bytes);
      to[rank] += n * bytes;
    }
    from += n * bytes;
    left -= n;
  }
}

void amped_shard_pack(const amped_tensor_info *info, const amped_plan *plan, int mode,
                      amped_shard_cursor *cursor, const amped_slab *slab, const uint64_t *counts,
                      char *const *wire) {
  int arrays[AMPED_MAX_ORDER + 1];
  uint64_t bytes[AMPED_MAX_ORDER + 1];
  uint64_t before[AMPED_MAX_ORDER + 1]; /* bytes of one nonzero in the arrays before this one */
  uint64_t sum = 0;
  amped_shard_cursor end = *cursor;
  order_arrays(info, arrays, bytes);
  for (int a = 0; a <= info->order; a++) {
    before[a] = sum;
    sum += bytes[a];
  }
  /* A thread copies whole arrays: each array streams through its cache. */
#pragma omp parallel for schedule(static, 1)
  for (int a = 0; a <= info->order; a++) {
    const void *from = arrays[a] == info->order ? slab->values : slab->indices[arrays[a]];
    amped_shard_cursor at = *cursor;
    char *to[plan->nranks];
    for (int p = 0; p < plan->nranks; p++)
      to[p] = wire[p] != NULL ? wire[p] + counts[p] * before[a] : NULL;
    pack_array(plan, mode, &at, slab->count, from, bytes[a], to);
    if (a == 0)
      end = at;
  }
  *cursor = end;
}

/* Address of each array of a shard in its wire form (shard.h). */
typedef struct wire_view {
  const char *indices[AMPED_MAX_ORDER];
  const char *values;
} wire_view;

static wire_view view_of(const amped_tensor_info *info, const char *wire, uint64_t count) {
  int arrays[AMPED_MAX_ORDER + 1];
  uint64_t bytes[AMPED_MAX_ORDER + 1];
  wire_view v;
  memset(&v, 0, sizeof v);
  order_arrays(info, arrays, bytes);
  for (int a = 0; a <= info->order; a++) {
    if (arrays[a] == info->order)
      v.values = wire;
    else
      v.indices[arrays[a]] = wire;
    wire += count * bytes[a];
  }
  return v;
}

/* Nonzeros translated together: every loop over them has one type and one mode. */
#define BUNDLE 1024

typedef struct bundle {
  uint64_t first, count;
  uint64_t hash[BUNDLE];
  uint64_t index[BUNDLE];
  double value[BUNDLE];
} bundle;

/* Turns indices of the copy's mode into rows of the MTTKRP result. Returns false if a row belongs
 * to another rank. */
static bool find_rows(const amped_mode_plan *m, bundle *b) {
  uint64_t strangers = 0;
  for (uint64_t k = 0; k < b->count; k++) {
    uint64_t idp = b->index[k] / m->rows.width;
    strangers += m->copy.row[idp] == AMPED_NO_ROW;
    b->index[k] = m->copy.row[idp] + (b->index[k] - idp * m->rows.width);
  }
  return strangers == 0;
}

/* Turns indices of an input mode into positions. */
static void find_positions(const amped_plan *plan, int mode, bundle *b) {
  for (uint64_t k = 0; k < b->count; k++)
    b->index[k] = amped_plan_position(plan, mode, b->index[k]);
}

/* Returns false if a nonzero belongs to another rank. */
static bool translate_bundle(const amped_tensor_info *info, const amped_plan *plan, int mode,
                             const wire_view *from, const amped_shard_buffers *to, bundle *b) {
  bool known = true;
  amped_values_get(from->values, info->value_type, b->first, b->count, b->value);
  for (uint64_t k = 0; k < b->count; k++) {
    b->hash[k] = amped_hash_value(b->value[k]);
    b->value[k] = amped_value_map_store(plan->map, b->value[k]);
  }
  amped_values_put(to->values, plan->value_type, b->first, b->count, b->value);
  for (int m = 0, input = 0; m < info->order; m++) {
    amped_indices_get(from->indices[m], info->index_types[m], b->first, b->count, b->index);
    for (uint64_t k = 0; k < b->count; k++)
      b->hash[k] = amped_hash_index(b->hash[k], b->index[k]);
    if (m == mode)
      known = find_rows(&plan->modes[m], b);
    else
      find_positions(plan, m, b);
    amped_indices_put(m == mode ? to->rows : to->inputs[input++], plan->index_type, b->first,
                      b->count, b->index);
  }
  return known;
}

bool amped_shard_translate(const amped_tensor_info *info, const amped_plan *plan, int mode,
                           const char *wire, uint64_t count, const amped_shard_buffers *buffers,
                           amped_batch *batch, uint64_t *hash) {
  const wire_view v = view_of(info, wire, count);
  uint64_t sum = 0;
  bool known = true;
  batch->count = count;
  batch->rows = buffers->rows;
  for (int i = 0; i + 1 < info->order; i++)
    batch->inputs[i] = buffers->inputs[i];
  batch->values = buffers->values;
#pragma omp parallel for schedule(static) reduction(+ : sum) reduction(&& : known)
  for (uint64_t first = 0; first < count; first += BUNDLE) {
    bundle b;
    b.first = first;
    b.count = count - first < BUNDLE ? count - first : BUNDLE;
    known = translate_bundle(info, plan, mode, &v, buffers, &b) && known;
    for (uint64_t k = 0; k < b.count; k++)
      sum += b.hash[k];
  }
  *hash = sum;
  return known;
}
