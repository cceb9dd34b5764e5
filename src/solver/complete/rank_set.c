/* Rank set: choice of entries, pairs that were trained, and ranks. */
#include "solver/complete/rank_set.h"

#include <cblas.h>
#include <float.h>
#include <math.h>
#include <omp.h>
#include <string.h>

#include "base/buffers.h"
#include "base/mem.h"
#include "base/random.h"
#include "base/sort.h"
#include "base/system_memory.h"

/* Nonzeros per slab, and rows that are copied together. */
#define SLAB (UINT64_C(1) << 16)
#define ROWS 512

/* Entries that a thread compares with ROWS rows at a time. */
#define ENTRIES 32

/* Seed of the hash that chooses entries. It differs from likely values of --split-seed. */
#define SEED UINT64_C(0x52616e6b53657431)

/* Bits of the filter of entries' keys, which most nonzeros do not pass. */
#define FILTER_BITS (UINT64_C(1) << 18)

struct amped_rank_set {
  int order, mode;
  uint64_t count;                       /* number of entries, the same on all ranks */
  uint64_t *positions[AMPED_MAX_ORDER]; /* [count] rows of factors, or AMPED_NO_ROW */
  uint64_t *is_cold;                    /* [count] 1: a row of the entry was never trained */
  uint64_t pairs, room;                 /* pairs of a training nonzero of this rank and an entry;
                                           their capacity */
  uint64_t *pair_entry;                 /* [pairs] an entry with the nonzero's other indices */
  uint64_t *pair_position;              /* [pairs] ascending positions in the ranked mode */
  uint64_t *pairs_of;                   /* [count] pairs of each entry, on all ranks */
};

uint64_t amped_rank_set_bytes(const amped_plan *plan) {
  const uint64_t most = 2 * AMPED_RANKED;
  const uint64_t order = (uint64_t)plan->order;
  uint64_t rows = 0;
  for (int m = 0; m < plan->order; m++)
    rows += amped_plan_factor_rows(plan, m);
  return (rows + most * (2 * order + 8 + 2 * (uint64_t)plan->ncomps) + SLAB * order +
          ROWS * (uint64_t)plan->ncomps) *
             sizeof(uint64_t) +
         SLAB + FILTER_BITS / 8 + (uint64_t)omp_get_max_threads() * ENTRIES * ROWS * sizeof(double);
}

void amped_rank_set_destroy(amped_rank_set *s) {
  if (s == NULL)
    return;
  for (int m = 0; m < AMPED_MAX_ORDER; m++)
    amped_free(s->positions[m]);
  amped_free(s->is_cold);
  amped_free(s->pair_entry);
  amped_free(s->pair_position);
  amped_free(s->pairs_of);
  amped_free(s);
}

uint64_t amped_rank_set_count(const amped_rank_set *s) {
  return s->count;
}

/* --- entries ---------------------------------------------------------------------------------- */

/* Find the file indices of mode's positions. The caller frees *out. */
static amped_status find_indices(const amped_plan *plan, int mode, uint64_t **out) {
  const amped_row_plan *r = &plan->modes[mode].rows;
  AMPED_TRY(amped_calloc(out, amped_plan_factor_rows(plan, mode), sizeof **out,
                         "the indices of positions"));
  for (uint64_t i = 0; i < r->idp_count; i++)
    for (uint64_t index = i * r->width; index < (i + 1) * r->width && index < r->dim; index++)
      (*out)[r->position[i] + index - i * r->width] = index;
  return AMPED_OK;
}

/* Traversal of this rank's nonzeros, slab by slab. */
typedef struct traversal {
  const amped_context *context;
  uint64_t nnz;
  uint64_t *positions[AMPED_MAX_ORDER]; /* [SLAB] */
  bool *held;                           /* [SLAB] */
  uint64_t *index_of[AMPED_MAX_ORDER];  /* file indices of all modes; NULL: not needed */
} traversal;

static amped_status traversal_open(traversal *w) {
  for (int m = 0; m < w->context->plan->order; m++)
    AMPED_TRY(amped_alloc(&w->positions[m], SLAB, sizeof(uint64_t), "a slab of nonzeros"));
  return amped_alloc(&w->held, SLAB, sizeof *w->held, "a slab of nonzeros");
}

static void traversal_close(traversal *w) {
  for (int m = 0; m < AMPED_MAX_ORDER; m++) {
    amped_free(w->positions[m]);
    amped_free(w->index_of[m]);
  }
  amped_free(w->held);
}

static amped_status traversal_take(traversal *w, uint64_t first, uint64_t *count) {
  const amped_worker *worker = w->context->worker;
  *count = w->nnz - first < SLAB ? w->nnz - first : SLAB;
  return worker->format->row_fit->view(worker->tensor, first, *count, w->positions, w->held, NULL,
                                       NULL);
}

/* Append an entry to this rank's growable lists. */
static amped_status add_entry(amped_rank_set *s, uint64_t *room, const uint64_t *position,
                              bool is_cold) {
  if (s->count == *room) {
    *room = *room > 0 ? 2 * *room : 1024;
    for (int m = 0; m < s->order; m++)
      AMPED_TRY(amped_realloc(&s->positions[m], *room, sizeof *s->positions[m], "entries to rank"));
    AMPED_TRY(amped_realloc(&s->is_cold, *room, sizeof *s->is_cold, "entries to rank"));
  }
  for (int m = 0; m < s->order; m++)
    s->positions[m][s->count] = position[m];
  s->is_cold[s->count++] = is_cold;
  return AMPED_OK;
}

/* True if the hash selects the entry for the sample. */
static bool is_chosen(uint64_t hash, uint64_t total) {
  return total <= AMPED_RANKED || (double)hash < ldexp(AMPED_RANKED / (double)total, 64);
}

static amped_status choose_held(amped_rank_set *s, traversal *w, uint64_t total) {
  uint64_t room = 0;
  uint64_t count = 0;
  for (int m = 0; m < s->order && total > AMPED_RANKED; m++)
    AMPED_TRY(find_indices(w->context->plan, m, &w->index_of[m]));
  for (uint64_t first = 0; first < w->nnz; first += count) {
    AMPED_TRY(traversal_take(w, first, &count));
    for (uint64_t i = 0; i < count; i++) {
      uint64_t position[AMPED_MAX_ORDER];
      uint64_t hash = amped_mix64(SEED);
      if (!w->held[i])
        continue;
      for (int m = 0; m < s->order; m++) {
        position[m] = w->positions[m][i];
        if (w->index_of[m] != NULL)
          hash = amped_hash_index(hash, w->index_of[m][position[m]]);
      }
      if (is_chosen(hash, total))
        AMPED_TRY(add_entry(s, &room, position, false));
    }
  }
  return AMPED_OK;
}

static amped_status choose_entries(amped_rank_set *s, const amped_entry_set *entries) {
  uint64_t room = 0;
  for (uint64_t i = 0; i < entries->count; i++) {
    uint64_t position[AMPED_MAX_ORDER];
    bool is_cold = false;
    for (int m = 0; m < s->order; m++) {
      position[m] = entries->positions[m][i];
      is_cold = is_cold || !(entries->trained[i] >> m & 1);
    }
    if (is_chosen(amped_hash_index(amped_mix64(SEED), entries->first + i), entries->total))
      AMPED_TRY(add_entry(s, &room, position, is_cold));
  }
  return AMPED_OK;
}

/* Collective. Give the entries of all ranks to every rank. */
static amped_status share_entries(const amped_comm *comm, amped_rank_set *s) {
  const uint64_t own = s->count;
  const int lists = s->order + 1;
  uint64_t **mine[AMPED_MAX_ORDER + 1];
  uint64_t *all[AMPED_MAX_ORDER + 1] = {NULL};
  uint64_t *counts = NULL;
  uint64_t before = 0;
  uint64_t total = 0;
  amped_status status =
      amped_calloc(&counts, (uint64_t)comm->nranks, sizeof *counts, "entries to rank");
  AMPED_GO(done, amped_comm_agree(comm, status));
  counts[comm->rank] = own;
  amped_comm_sum_u64(comm, counts, (uint64_t)comm->nranks);
  for (int p = 0; p < comm->nranks; p++) {
    before += p < comm->rank ? counts[p] : 0;
    total += counts[p];
  }
  for (int l = 0; l < lists; l++)
    mine[l] = l < s->order ? &s->positions[l] : &s->is_cold;
  for (int l = 0; l < lists && status == AMPED_OK; l++)
    status = amped_calloc(&all[l], total, sizeof *all[l], "entries to rank");
  AMPED_GO(done, amped_comm_agree(comm, status));
  for (int l = 0; l < lists; l++) {
    if (own > 0)
      memcpy(all[l] + before, *mine[l], own * sizeof *all[l]);
    amped_comm_sum_u64(comm, all[l], total);
    amped_free(*mine[l]);
    *mine[l] = all[l];
    all[l] = NULL;
  }
  s->count = total;
done:
  for (int l = 0; l < lists; l++)
    amped_free(all[l]);
  amped_free(counts);
  return status;
}

/* --- pairs that were trained ------------------------------------------------------------------ */

/* Entries, ordered by a hash of their positions in the other modes. */
typedef struct key_table {
  uint64_t *keys;    /* [count] ascending */
  uint64_t *entries; /* [count] */
  uint64_t *filter;
  uint64_t count;
} key_table;

static void free_keys(key_table *t) {
  amped_free(t->keys);
  amped_free(t->entries);
  amped_free(t->filter);
}

/* Hash of item i of these lists, without the ranked mode. */
static uint64_t key_of(const amped_rank_set *s, uint64_t *const *positions, uint64_t i) {
  uint64_t hash = SEED;
  for (int m = 0; m < s->order; m++)
    if (m != s->mode)
      hash = amped_hash_index(hash, positions[m][i]);
  return hash;
}

static amped_status make_keys(const amped_rank_set *s, key_table *t) {
  static const char what[] = "keys of entries";
  AMPED_TRY(amped_alloc(&t->keys, s->count, sizeof *t->keys, what));
  AMPED_TRY(amped_alloc(&t->entries, s->count, sizeof *t->entries, what));
  AMPED_TRY(amped_calloc(&t->filter, FILTER_BITS / 64, sizeof *t->filter, what));
  t->count = s->count;
  for (uint64_t i = 0; i < s->count; i++) {
    const uint64_t key = key_of(s, s->positions, i);
    t->keys[i] = key;
    t->entries[i] = i;
    t->filter[key % FILTER_BITS / 64] |= UINT64_C(1) << key % 64;
  }
  const amped_sort_field field = {t->keys, 64};
  void *const arrays[] = {t->keys, t->entries};
  return amped_sort(t->count, &field, 1, 0, arrays, 2);
}

static amped_status add_pair(amped_rank_set *s, uint64_t entry, uint64_t position) {
  if (s->pairs == s->room) {
    s->room = s->room > 0 ? 2 * s->room : 4096;
    AMPED_TRY(amped_mem_check(NULL, "learnt entries in the rows of ranked entries",
                              2 * s->room * sizeof *s->pair_entry));
    AMPED_TRY(amped_realloc(&s->pair_entry, s->room, sizeof *s->pair_entry, "learnt entries"));
    AMPED_TRY(
        amped_realloc(&s->pair_position, s->room, sizeof *s->pair_position, "learnt entries"));
  }
  s->pair_entry[s->pairs] = entry;
  s->pair_position[s->pairs++] = position;
  return AMPED_OK;
}

/* Add the pairs of nonzero i of the slab: one with each entry that has the same other positions. */
static amped_status take_pairs(amped_rank_set *s, const key_table *t, uint64_t *const *positions,
                               uint64_t i) {
  const uint64_t key = key_of(s, positions, i);
  if (!(t->filter[key % FILTER_BITS / 64] >> key % 64 & 1))
    return AMPED_OK;
  for (uint64_t k = amped_sort_find(t->keys, t->count, key); k < t->count && t->keys[k] == key;
       k++) {
    bool same = true;
    for (int m = 0; m < s->order; m++)
      same = same && (m == s->mode || s->positions[m][t->entries[k]] == positions[m][i]);
    if (same)
      AMPED_TRY(add_pair(s, t->entries[k], positions[s->mode][i]));
  }
  return AMPED_OK;
}

/* Sort pairs by position, and keep each pair once. */
static amped_status sort_pairs(amped_rank_set *s) {
  uint64_t kept = 0;
  const amped_sort_field fields[] = {
      {s->pair_position, amped_sort_bits(s->pair_position, s->pairs)},
      {s->pair_entry, amped_sort_bits(s->pair_entry, s->pairs)}};
  void *const arrays[] = {s->pair_position, s->pair_entry};
  if (s->pairs == 0)
    return AMPED_OK;
  AMPED_TRY(amped_sort(s->pairs, fields, 2, 0, arrays, 2));
  for (uint64_t i = 0; i < s->pairs; i++)
    if (i == 0 || s->pair_position[i] != s->pair_position[i - 1] ||
        s->pair_entry[i] != s->pair_entry[i - 1]) {
      s->pair_position[kept] = s->pair_position[i];
      s->pair_entry[kept++] = s->pair_entry[i];
    }
  s->pairs = kept;
  return AMPED_OK;
}

static amped_status find_pairs(amped_rank_set *s, traversal *w) {
  key_table t = {.count = 0};
  uint64_t count = 0;
  amped_status status = AMPED_OK;
  if (s->count == 0)
    return AMPED_OK;
  AMPED_GO(done, make_keys(s, &t));
  for (uint64_t first = 0; first < w->nnz; first += count) {
    AMPED_GO(done, traversal_take(w, first, &count));
    for (uint64_t i = 0; i < count; i++)
      if (!w->held[i])
        AMPED_GO(done, take_pairs(s, &t, w->positions, i));
  }
  status = sort_pairs(s);
done:
  free_keys(&t);
  return status;
}

/* Collective; the status is agreed. Count the pairs of each entry on all ranks. */
static amped_status count_pairs(const amped_comm *comm, amped_rank_set *s) {
  AMPED_TRY(amped_comm_agree(
      comm, amped_calloc(&s->pairs_of, s->count, sizeof *s->pairs_of, "entries to rank")));
  for (uint64_t pair = 0; pair < s->pairs; pair++)
    s->pairs_of[s->pair_entry[pair]]++;
  amped_comm_sum_u64(comm, s->pairs_of, s->count);
  return AMPED_OK;
}

/* --- a set ------------------------------------------------------------------------------------ */

static amped_status choose(amped_rank_set *s, traversal *w, uint64_t total,
                           const amped_entry_set *entries) {
  AMPED_TRY(traversal_open(w));
  return entries != NULL ? choose_entries(s, entries) : choose_held(s, w, total);
}

amped_status amped_rank_set_create(const amped_context *context, int mode, uint64_t total,
                                   const amped_entry_set *entries, amped_rank_set **out) {
  const amped_plan *plan = context->plan;
  traversal w = {.context = context, .nnz = plan->modes[0].copy.rank_nnz[plan->rank]};
  amped_rank_set *s = NULL;
  *out = NULL;
  amped_status status = amped_calloc(&s, 1, sizeof *s, "entries to rank");
  AMPED_GO(done, amped_comm_agree(context->comm, status));
  s->order = plan->order;
  s->mode = mode;
  AMPED_GO(done, amped_comm_agree(context->comm, choose(s, &w, total, entries)));
  AMPED_GO(done, share_entries(context->comm, s));
  AMPED_GO(done, amped_comm_agree(context->comm, find_pairs(s, &w)));
  status = count_pairs(context->comm, s);
done:
  traversal_close(&w);
  if (status == AMPED_OK)
    *out = s;
  else
    amped_rank_set_destroy(s);
  return status;
}

/* --- ranks ------------------------------------------------------------------------------------ */

/* Inner product. Equal rows must give equal numbers, so there is only one such function, and it is
 * never inlined. */
__attribute__((noinline)) static double dot(const double *a, const double *b, uint64_t n) {
  double lanes[8] = {0.0};
  uint64_t c = 0;
  double sum = 0.0;
  for (; c + 8 <= n; c += 8)
    for (uint64_t q = 0; q < 8; q++)
      lanes[q] += a[c + q] * b[c + q];
  for (; c < n; c++)
    sum += a[c] * b[c];
  for (uint64_t q = 0; q < 8; q++)
    sum += lanes[q];
  return sum;
}

/* Entries are `open` as long as their rank may be below AMPED_RANK_TOP: most are not after a few
 * blocks of rows. */
typedef struct ranking {
  const amped_context *context;
  const amped_rank_set *set;
  uint64_t n;
  double prior;     /* prior of the current mode */
  double *rows;     /* [ROWS][n] */
  uint64_t open;    /* number of open entries */
  uint64_t *entry;  /* [open] these entries, ascending */
  double *products; /* [open][n] products over all modes except the ranked one */
  double *models;   /* [open] model values */
  uint64_t *place;  /* [count] of an entry among the open ones; AMPED_NO_ROW: it is not open */
  double *scores;   /* [threads][ENTRIES][ROWS] model values of a block, to rounding */
  uint64_t threads;
  uint64_t *above; /* [count] indices as high or higher among this rank's rows, without trained
                      ones; of an entry that is not open at least AMPED_RANK_TOP more than all
                      its pairs */
} ranking;

static amped_buffers ranking_buffers(ranking *r) {
  amped_buffers b = {.what = "products of rows"};
  const uint64_t count = r->set->count;
  AMPED_BUFFER(&b, HOST, r->rows, ROWS * r->n);
  AMPED_BUFFER(&b, HOST, r->entry, count);
  AMPED_BUFFER(&b, HOST, r->place, count);
  AMPED_BUFFER(&b, HOST, r->products, count * r->n);
  AMPED_BUFFER(&b, HOST, r->models, count);
  AMPED_BUFFER(&b, HOST, r->scores, r->threads * ENTRIES * ROWS);
  AMPED_BUFFER(&b, ZEROED, r->above, count);
  return b;
}

/* Function for item i of a list of positions, and its row. */
typedef void take_row(ranking *r, uint64_t i, const double *row);

/* Apply `take` to mode's rows at these positions; AMPED_NO_ROW: a row of priors. */
static amped_status take_rows(ranking *r, int mode, const uint64_t *positions, uint64_t count,
                              take_row *take) {
  const amped_worker *worker = r->context->worker;
  for (uint64_t first = 0; first < count; first += ROWS) {
    const uint64_t some = count - first < ROWS ? count - first : ROWS;
    AMPED_TRY(worker->backend->factors->get_rows_at(worker->factors, mode, some, positions + first,
                                                    r->rows));
    for (uint64_t k = 0; k < some; k++) {
      double *row = r->rows + k * r->n;
      for (uint64_t c = 0; c < r->n && positions[first + k] == AMPED_NO_ROW; c++)
        row[c] = r->prior;
      take(r, first + k, row);
    }
  }
  return AMPED_OK;
}

static void multiply(ranking *r, uint64_t i, const double *row) {
  double *product = r->products + i * r->n;
  for (uint64_t c = 0; c < r->n; c++)
    product[c] *= row[c];
}

static void find_model(ranking *r, uint64_t i, const double *row) {
  r->models[i] = dot(r->products + i * r->n, row, r->n);
}

/* True if the row at this position of the ranked mode is as high as open entry i, or higher. */
static bool is_above(const ranking *r, uint64_t i, const double *row, uint64_t position) {
  const amped_rank_set *s = r->set;
  const uint64_t own = s->positions[s->mode][r->entry[i]];
  return position != own && dot(r->products + i * r->n, row, r->n) >= r->models[i];
}

/* Returns the root of the sum of squares. */
static double length(const double *a, uint64_t n) {
  return sqrt(dot(a, a, n));
}

/* Add to `above` of `count` open entries from i on the number of these `rows` rows, whose positions
 * begin at `first`, that are as high as the entry or higher. longest: the longest row. A product of
 * matrices decides, except where its rounding may. */
static void compare_entries(ranking *r, uint64_t i, uint64_t count, uint64_t first, uint64_t rows,
                            double longest, double *scores) {
  const uint64_t n = r->n;
  cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)count, (int)rows, (int)n, 1.0,
              r->products + i * n, (int)n, r->rows, (int)n, 0.0, scores, ROWS);
  for (uint64_t e = i; e < i + count; e++) {
    const double *score = scores + (e - i) * ROWS;
    const double error = 4.0 * (double)n * DBL_EPSILON * length(r->products + e * n, n) * longest;
    const double high = r->models[e] + error;
    const double low = r->models[e] - error;
    uint64_t above = 0;
    uint64_t below = 0;
    for (uint64_t k = 0; k < rows; k++) {
      above += score[k] > high;
      below += score[k] < low;
    }
    uint64_t near = rows - above - below;
    for (uint64_t k = 0; near > 0; k++)
      if (!(score[k] > high) && !(score[k] < low)) {
        above += is_above(r, e, r->rows + k * n, first + k);
        near--;
      }
    r->above[r->entry[e]] += above;
  }
}

/* Close the entries whose rank is AMPED_RANK_TOP or more, even if all their pairs are above. */
static void close_entries(ranking *r) {
  uint64_t kept = 0;
  for (uint64_t i = 0; i < r->open; i++) {
    const uint64_t e = r->entry[i];
    if (r->above[e] >= AMPED_RANK_TOP + r->set->pairs_of[e])
      continue;
    if (kept < i) {
      r->entry[kept] = e;
      r->models[kept] = r->models[i];
      memcpy(r->products + kept * r->n, r->products + i * r->n, r->n * sizeof *r->products);
    }
    kept++;
  }
  r->open = kept;
}

/* Count, for each open entry, this rank's rows of the ranked mode that are as high as the entry, or
 * higher. */
static amped_status compare_block(ranking *r) {
  const amped_rank_set *s = r->set;
  const amped_plan *plan = r->context->plan;
  const amped_row_plan *rows = &plan->modes[s->mode].rows;
  const amped_worker *worker = r->context->worker;
  const uint64_t block = (uint64_t)plan->rank * rows->block_rows;
  for (uint64_t first = 0; first < rows->rank_rows[plan->rank] && r->open > 0; first += ROWS) {
    const uint64_t left = rows->rank_rows[plan->rank] - first;
    const uint64_t count = left < ROWS ? left : ROWS;
    AMPED_TRY(worker->backend->factors->get_rows(worker->factors, s->mode, block + first, count,
                                                 r->rows));
    double longest = 0.0;
    for (uint64_t k = 0; k < count; k++)
      longest = fmax(longest, length(r->rows + k * r->n, r->n));
#pragma omp parallel for schedule(static) num_threads((int)r->threads)
    for (uint64_t i = 0; i < r->open; i += ENTRIES)
      compare_entries(r, i, r->open - i < ENTRIES ? r->open - i : ENTRIES, block + first, count,
                      longest, r->scores + (uint64_t)omp_get_thread_num() * ENTRIES * ROWS);
    close_entries(r);
  }
  return AMPED_OK;
}

/* Take pairs that are above their open entries off the count. */
static amped_status compare_pairs(ranking *r) {
  const amped_rank_set *s = r->set;
  const amped_worker *worker = r->context->worker;
  uint64_t places[ROWS];
  uint64_t positions[ROWS];
  uint64_t some = 0;
  if (r->open == 0)
    return AMPED_OK;
  memset(r->place, 0xff, s->count * sizeof *r->place);
  for (uint64_t i = 0; i < r->open; i++)
    r->place[r->entry[i]] = i;
  for (uint64_t pair = 0; pair < s->pairs; pair++) {
    positions[some] = s->pair_position[pair];
    places[some] = r->place[s->pair_entry[pair]];
    some += places[some] != AMPED_NO_ROW;
    if (some == 0 || (some < ROWS && pair + 1 < s->pairs))
      continue;
    AMPED_TRY(
        worker->backend->factors->get_rows_at(worker->factors, s->mode, some, positions, r->rows));
    for (uint64_t k = 0; k < some; k++)
      r->above[r->entry[places[k]]] -= is_above(r, places[k], r->rows + k * r->n, positions[k]);
    some = 0;
  }
  return AMPED_OK;
}

static amped_status count_above(ranking *r, const amped_row_fit *fit) {
  const amped_rank_set *s = r->set;
  AMPED_TRY(amped_buffers_allocate(ranking_buffers(r)));
  r->open = s->count;
  for (uint64_t e = 0; e < s->count; e++)
    r->entry[e] = e;
  for (uint64_t e = 0; e < s->count * r->n; e++)
    r->products[e] = 1.0;
  for (int m = 0; m < s->order; m++) {
    r->prior = fit->prior[m];
    if (m != s->mode)
      AMPED_TRY(take_rows(r, m, s->positions[m], s->count, multiply));
  }
  r->prior = fit->prior[s->mode];
  AMPED_TRY(take_rows(r, s->mode, s->positions[s->mode], s->count, find_model));
  AMPED_TRY(compare_block(r));
  return compare_pairs(r);
}

amped_status amped_rank_set_find(const amped_context *context, const amped_rank_set *set,
                                 const amped_row_fit *fit, amped_rank_sums *out,
                                 amped_rank_sums *cold) {
  ranking r = {.context = context,
               .set = set,
               .n = (uint64_t)context->plan->ncomps,
               .threads = (uint64_t)omp_get_max_threads()};
  *out = (amped_rank_sums){.count = set->count};
  *cold = (amped_rank_sums){.count = 0};
  amped_status status = amped_comm_agree(context->comm, count_above(&r, fit));
  if (status == AMPED_OK) {
    amped_comm_sum_u64(context->comm, r.above, set->count);
    for (uint64_t i = 0; i < set->count; i++) {
      const uint64_t above = r.above[i] >> 63 != 0 ? 0 : r.above[i]; /* negative: an index was
                                                                        trained more than once */
      cold->count += set->is_cold[i];
      if (above < AMPED_RANK_TOP) {
        out->at[above]++;
        cold->at[above] += set->is_cold[i];
      }
    }
  }
  amped_buffers_free(ranking_buffers(&r));
  return status;
}

double amped_rank_hit_rate(const amped_rank_sums *s) {
  uint64_t hits = 0;
  for (int r = 0; r < AMPED_RANK_TOP; r++)
    hits += s->at[r];
  return s->count > 0 ? (double)hits / (double)s->count : (double)NAN;
}

double amped_rank_ndcg(const amped_rank_sums *s) {
  double sum = 0.0;
  for (int r = 0; r < AMPED_RANK_TOP; r++)
    sum += (double)s->at[r] / log2((double)r + 2.0);
  return s->count > 0 ? sum / (double)s->count : (double)NAN;
}
