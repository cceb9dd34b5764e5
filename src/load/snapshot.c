/* Snapshot: comparison of a list with the batches of a state, and removal of what was learnt. */
#include "load/snapshot.h"

#include <string.h>

#include "base/mem.h"

amped_status amped_batch_sums_add(amped_batch_sums *p, uint64_t hash, uint64_t nnz) {
  if (p->count == p->room) {
    const uint64_t room = p->room > 0 ? 2 * p->room : 64;
    AMPED_TRY(amped_realloc(&p->hashes, room, sizeof *p->hashes, "the batches of a state"));
    AMPED_TRY(amped_realloc(&p->nnz, room, sizeof *p->nnz, "the batches of a state"));
    p->room = room;
  }
  p->hashes[p->count] = hash + (p->count > 0 ? p->hashes[p->count - 1] : 0);
  p->nnz[p->count] = nnz + (p->count > 0 ? p->nnz[p->count - 1] : 0);
  p->count++;
  return AMPED_OK;
}

void amped_batch_sums_free(amped_batch_sums *p) {
  amped_free(p->hashes);
  amped_free(p->nnz);
  memset(p, 0, sizeof *p);
}

static bool is_inside(const amped_sptensor *t, uint64_t k, const uint64_t *dims) {
  bool inside = true;
  for (int m = 0; m < t->order && inside; m++)
    inside = t->indices[m][k] < dims[m];
  return inside;
}

static uint64_t hash_at(const amped_sptensor *t, uint64_t k) {
  uint64_t index[AMPED_MAX_ORDER];
  for (int m = 0; m < t->order; m++)
    index[m] = t->indices[m][k];
  return amped_nonzero_hash(t->order, index, t->values[k]);
}

/* Returns n if batches 1 to n have this hash and number of entries, the largest such n; 0: none. */
static uint64_t find_same(const amped_batch_sums *p, uint64_t hash, uint64_t nnz) {
  uint64_t n = p->count;
  while (n > 0 && (p->hashes[n - 1] != hash || p->nnz[n - 1] != nnz))
    n--;
  return n;
}

amped_snapshot amped_snapshot_of(const amped_batch_sums *p, const uint64_t *dims,
                                 const amped_sptensor *list) {
  uint64_t all = 0;
  uint64_t within = 0;
  uint64_t inside = 0;
#pragma omp parallel for schedule(static) reduction(+ : all, within, inside)
  for (uint64_t k = 0; k < list->nnz; k++) {
    const uint64_t hash = hash_at(list, k);
    const bool is = is_inside(list, k, dims);
    all += hash;
    within += is ? hash : 0;
    inside += is;
  }
  return (amped_snapshot){.inside = inside,
                          .same_as = find_same(p, all, list->nnz),
                          .is_one = p->count > 0 && find_same(p, within, inside) == p->count};
}

/* Least number of entries by which a beginning is recognised. */
#define LEAST 3

static uint64_t nnz_of(const amped_batch_sums *p, uint64_t k) {
  return p->nnz[k] - (k > 0 ? p->nnz[k - 1] : 0);
}

static uint64_t hash_of(const amped_batch_sums *p, uint64_t k) {
  return p->hashes[k] - (k > 0 ? p->hashes[k - 1] : 0);
}

/* Find the largest batch whose entries are the list's from `at` on; p->count: none. upto[k]: sum of
 * the hashes of the first k entries. */
static uint64_t batch_at(const amped_batch_sums *p, const uint64_t *upto, uint64_t nnz,
                         uint64_t at) {
  uint64_t found = p->count;
  for (uint64_t k = 0; k < p->count; k++) {
    const uint64_t n = nnz_of(p, k);
    if (n > 0 && n <= nnz - at && upto[at + n] - upto[at] == hash_of(p, k) &&
        (found == p->count || n > nnz_of(p, found)))
      found = k;
  }
  return found;
}

amped_status amped_beginning_of(const amped_batch_sums *p, const amped_sptensor *list,
                                amped_beginning *out) {
  uint64_t *upto = NULL;
  uint64_t k = 0;
  *out = (amped_beginning){.nnz = 0};
  AMPED_TRY(amped_alloc(&upto, list->nnz + 1, sizeof *upto, "the beginning of a batch"));
  upto[0] = 0;
#pragma omp parallel for schedule(static)
  for (uint64_t i = 0; i < list->nnz; i++)
    upto[i + 1] = hash_at(list, i);
  for (uint64_t i = 0; i < list->nnz; i++)
    upto[i + 1] += upto[i];
  while ((k = batch_at(p, upto, list->nnz, out->nnz)) < p->count)
    *out = (amped_beginning){out->nnz + nnz_of(p, k), k + 1};
  if (out->nnz < LEAST)
    *out = (amped_beginning){.nnz = 0};
  amped_free(upto);
  return AMPED_OK;
}

bool amped_known_list_lacks(const amped_known_list *p, const uint64_t *index) {
  return p != NULL && amped_entry_sample_lacks(p->cells, index, p->seed, p->most);
}

bool amped_known_list_is_whole(const amped_known_list *p) {
  return p != NULL && p->cells->nnz < p->most;
}

/* Had an entry that the state has the weight 0? If so, add it to *out. */
static bool add_unlearnt(const amped_known_list *known, const amped_sptensor *t, uint64_t k,
                         amped_unlearnt *out) {
  uint64_t index[AMPED_MAX_ORDER];
  if (!amped_known_list_is_whole(known) || !known->weighted)
    return false;
  for (int m = 0; m < t->order; m++)
    index[m] = t->indices[m][k];
  if (!amped_known_list_lacks(known, index))
    return false;
  out->nnz++;
  out->hash += amped_nonzero_hash(t->order, index, t->values[k]);
  out->squares += t->values[k] * t->values[k];
  return true;
}

amped_unlearnt amped_unlearnt_of(const amped_known_list *known, const amped_sptensor *list) {
  amped_unlearnt out = {.nnz = 0};
  for (uint64_t k = 0; k < list->nnz; k++)
    (void)add_unlearnt(known, list, k, &out);
  return out;
}

/* Remove the entries before `count`, and those within dims. */
static amped_unlearnt cut(uint64_t count, const uint64_t *dims, const amped_known_list *known,
                          amped_sptensor *t) {
  amped_unlearnt out = {.nnz = 0};
  uint64_t kept = 0;
  for (uint64_t k = 0; k < t->nnz; k++) {
    const bool is_old = k < count || (dims != NULL && is_inside(t, k, dims));
    if (is_old && !add_unlearnt(known, t, k, &out))
      continue;
    for (int m = 0; m < t->order; m++)
      t->indices[m][kept] = t->indices[m][k];
    t->values[kept++] = t->values[k];
  }
  t->nnz = kept;
  return out;
}

amped_unlearnt amped_beginning_cut(uint64_t count, const amped_known_list *known,
                                   amped_sptensor *list) {
  return cut(count, NULL, known, list);
}

amped_unlearnt amped_snapshot_cut(const uint64_t *dims, const amped_known_list *known,
                                  amped_sptensor *list) {
  return cut(0, dims, known, list);
}

amped_status amped_snapshot_refuse(const amped_snapshot *found, const amped_batch_sums *p,
                                   const char *name, const char *path) {
  const uint64_t learnt = p->count > 0 ? p->nnz[p->count - 1] : 0;
  return amped_error(
      AMPED_BAD_INPUT, name,
      "is no snapshot (--snapshots): it has %" PRIu64
      " entries within the dimensions of %s, which learnt %" PRIu64 "%s; give new entries only, "
      "without --snapshots, or begin a new state from it with amped_mpi complete --state",
      found->inside, path, learnt,
      found->inside == learnt ? ", of other cells or with other values" : "");
}
