/* Learnt entries: search of training nonzeros for hashes of all ranks' entries. */
#include "solver/complete/learnt_entries.h"

#include <string.h>

#include "base/buffers.h"
#include "base/mem.h"
#include "base/random.h"
#include "base/sort.h"
#include "tensor/sptensor.h"

/* Entries of all ranks per part, and nonzeros per slab. */
#define PART (UINT64_C(1) << 20)
#define SLAB (UINT64_C(1) << 16)

/* Bits of the filter of hashes: most nonzeros have no entry with their hash. */
#define FILTER_BITS (UINT64_C(1) << 24)

#define LEARNT (UINT64_C(1) << 32)

static const char what[] = "entries that may be learnt";

/* Entries first .. first + count of all ranks. */
typedef struct part {
  uint64_t first, count;
  uint64_t *hashes;  /* [PART] in order of entries; sorted ascending later */
  uint64_t *numbers; /* [PART] entries, in order of hashes */
  uint64_t *found;   /* [PART] in order of entries: training nonzeros of its cell, in units of
                        LEARNT, plus those held out */
  uint64_t *filter;
  uint64_t *positions[AMPED_MAX_ORDER]; /* [SLAB] of nonzeros */
  bool *held;                           /* [SLAB] */
  double *weights;                      /* [SLAB] */
} part;

static amped_buffers buffers(part *p, int order) {
  amped_buffers b = {.what = what};
  AMPED_BUFFER(&b, HOST, p->hashes, PART);
  AMPED_BUFFER(&b, HOST, p->numbers, PART);
  AMPED_BUFFER(&b, HOST, p->found, PART);
  AMPED_BUFFER(&b, HOST, p->filter, FILTER_BITS / 64);
  for (int m = 0; m < order; m++)
    AMPED_BUFFER(&b, HOST, p->positions[m], SLAB);
  AMPED_BUFFER(&b, HOST, p->held, SLAB);
  AMPED_BUFFER(&b, HOST, p->weights, SLAB);
  return b;
}

/* Hash of an entry or nonzero, from the positions of its rows. An entry with a missing row has no
 * nonzero's hash. */
static uint64_t hash_of(int order, uint64_t *const *positions, uint64_t i) {
  uint64_t hash = amped_mix64((uint64_t)order);
  for (int m = 0; m < order; m++)
    hash = amped_hash_index(hash, positions[m][i]);
  return hash;
}

/* Place of the set's own entry i in the part; PART: it is in another part. */
static uint64_t place_of(const part *p, const amped_entry_set *set, uint64_t i) {
  const uint64_t number = set->first + i;
  return number >= p->first && number - p->first < p->count ? number - p->first : PART;
}

/* Collective. Gather the hashes of all ranks' entries of the part. cells: of their cells; else of
 * their positions. */
static void share_hashes(const amped_comm *comm, const amped_entry_set *set, bool cells, part *p) {
  memset(p->hashes, 0, p->count * sizeof *p->hashes);
  memset(p->found, 0, p->count * sizeof *p->found);
  memset(p->filter, 0, FILTER_BITS / 8);
  for (uint64_t i = 0; i < set->count; i++)
    if (place_of(p, set, i) < PART)
      p->hashes[place_of(p, set, i)] =
          cells ? set->cells[i] : hash_of(set->order, set->positions, i);
  amped_comm_sum_u64(comm, p->hashes, p->count);
  for (uint64_t i = 0; i < p->count; i++) {
    p->numbers[i] = i;
    p->filter[p->hashes[i] % FILTER_BITS / 64] |= UINT64_C(1) << p->hashes[i] % 64;
  }
}

/* Place of the first entry with this hash, in order of hashes; p->count: there is none. */
static uint64_t find_hash(const part *p, uint64_t hash) {
  if (!(p->filter[hash % FILTER_BITS / 64] >> hash % 64 & 1))
    return p->count;
  const uint64_t at = amped_sort_find(p->hashes, p->count, hash);
  return at < p->count && p->hashes[at] == hash ? at : p->count;
}

/* Add to the entries with this hash. */
static void mark(part *p, uint64_t hash, uint64_t what_is_found) {
  for (uint64_t at = find_hash(p, hash); at < p->count && p->hashes[at] == hash; at++)
    p->found[p->numbers[at]] += what_is_found;
}

static amped_status sort_hashes(part *p) {
  const amped_sort_field field = {p->hashes, 64};
  void *const arrays[] = {p->hashes, p->numbers};
  return amped_sort(p->count, &field, 1, 0, arrays, 2);
}

static amped_status look_through(const amped_context *context, part *p) {
  const amped_plan *plan = context->plan;
  const amped_worker *worker = context->worker;
  const uint64_t nnz = plan->modes[0].copy.rank_nnz[plan->rank];
  AMPED_TRY(sort_hashes(p));
  for (uint64_t first = 0; first < nnz; first += SLAB) {
    const uint64_t count = nnz - first < SLAB ? nnz - first : SLAB;
    AMPED_TRY(worker->format->row_fit->view(worker->tensor, first, count, p->positions, p->held,
                                            p->weights, NULL));
    for (uint64_t k = 0; k < count; k++)
      if (p->held[k] || p->weights[k] > 0.0)
        mark(p, hash_of(plan->order, p->positions, k), p->held[k] ? 1 : LEARNT);
  }
  return AMPED_OK;
}

/* Mark own entries of the part that are learnt. Returns how many are held out, but not learnt. */
static uint64_t strike(const part *p, const amped_entry_set *set, bool *struck) {
  uint64_t held_out = 0;
  for (uint64_t i = 0; i < set->count; i++)
    if (place_of(p, set, i) < PART) {
      const uint64_t found = p->found[place_of(p, set, i)];
      struck[i] = found >= LEARNT;
      held_out += found > 0 && found < LEARNT;
    }
  return held_out;
}

/* Collective; the status is agreed. struck = [set->count], true for entries that are learnt.
 * *held_out = this rank's entries that are held out. */
static amped_status find_learnt(const amped_context *context, amped_entry_set *set, part *p,
                                bool *struck, uint64_t *held_out) {
  for (p->first = 0; p->first < set->total; p->first += PART) {
    p->count = set->total - p->first < PART ? set->total - p->first : PART;
    share_hashes(context->comm, set, false, p);
    AMPED_TRY(amped_comm_agree(context->comm, look_through(context, p)));
    amped_comm_sum_u64(context->comm, p->found, p->count);
    *held_out += strike(p, set, struck);
  }
  return AMPED_OK;
}

/* Remove the struck entries of this rank. */
static void close_up(amped_entry_set *set, const bool *struck) {
  uint64_t kept = 0;
  for (uint64_t i = 0; i < set->count; i++) {
    if (struck[i])
      continue;
    for (int m = 0; m < set->order; m++)
      set->positions[m][kept] = set->positions[m][i];
    set->cells[kept] = set->cells[i];
    set->trained[kept] = set->trained[i];
    set->values[kept++] = set->values[i];
  }
  set->count = kept;
}

amped_status amped_learnt_entries_drop(const amped_context *context, amped_entry_set *set,
                                       uint64_t *dropped, uint64_t *held_out) {
  const uint64_t all = set->total;
  part p = {.first = 0};
  bool *struck = NULL;
  *dropped = *held_out = 0;
  amped_status status = amped_buffers_allocate(buffers(&p, set->order));
  if (status == AMPED_OK)
    status = amped_calloc(&struck, set->count, sizeof *struck, what);
  AMPED_GO(done, amped_comm_agree(context->comm, status));
  AMPED_GO(done, find_learnt(context, set, &p, struck, held_out));
  amped_comm_sum_u64(context->comm, held_out, 1);
  close_up(set, struck);
  amped_entry_set_finish(context, set);
  *dropped = all - set->total;
done:
  amped_free(struck);
  amped_buffers_free(buffers(&p, set->order));
  return status;
}

/* Collective; the status is agreed. found = [set->count], true for entries whose cell `other` has.
 */
static amped_status find_common(const amped_context *context, const amped_entry_set *set,
                                const amped_entry_set *other, part *p, bool *found) {
  for (p->first = 0; p->first < other->total; p->first += PART) {
    p->count = other->total - p->first < PART ? other->total - p->first : PART;
    share_hashes(context->comm, other, true, p);
    AMPED_TRY(amped_comm_agree(context->comm, sort_hashes(p)));
    for (uint64_t i = 0; i < set->count; i++)
      found[i] = found[i] || find_hash(p, set->cells[i]) < p->count;
  }
  return AMPED_OK;
}

amped_status amped_entries_in_common(const amped_context *context, const amped_entry_set *set,
                                     const amped_entry_set *other, uint64_t *common) {
  part p = {.first = 0};
  bool *found = NULL;
  *common = 0;
  amped_status status = amped_buffers_allocate(buffers(&p, set->order));
  if (status == AMPED_OK)
    status = amped_calloc(&found, set->count, sizeof *found, what);
  AMPED_GO(done, amped_comm_agree(context->comm, status));
  AMPED_GO(done, find_common(context, set, other, &p, found));
  for (uint64_t i = 0; i < set->count; i++)
    *common += found[i];
  amped_comm_sum_u64(context->comm, common, 1);
done:
  amped_free(found);
  amped_buffers_free(buffers(&p, set->order));
  return status;
}
