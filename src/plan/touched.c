/* Touched: finds and numbers the rows of a batch, by bits or by sorting. */
#include "plan/touched.h"

#include <omp.h>
#include <string.h>

#include "base/mem.h"
#include "base/sort.h"
#include "tensor/partition.h"

uint64_t amped_stream_own_rows(uint64_t dim, int rank, int nranks) {
  const uint64_t round = AMPED_STREAM_BLOCK * (uint64_t)nranks;
  const uint64_t before = AMPED_STREAM_BLOCK * (uint64_t)rank;
  const uint64_t rest = dim % round;
  const uint64_t last = rest > before ? rest - before : 0;
  return dim / round * AMPED_STREAM_BLOCK + (last < AMPED_STREAM_BLOCK ? last : AMPED_STREAM_BLOCK);
}

/* Total of the owners' rows, each owner's rounded up to a multiple of width. */
static uint64_t numbers_of(const uint64_t *counts, int nranks, uint64_t width) {
  uint64_t sum = 0;
  for (int p = 0; p < nranks; p++)
    sum += amped_ceil_div(counts[p], width) * width;
  return sum;
}

/* The dimension that has this width and holds all rows. *width is set. */
static uint64_t find_dim(const uint64_t *counts, uint64_t count, int nranks, uint64_t *width) {
  for (*width = amped_partition_width(count);; ++*width) {
    const uint64_t dim = numbers_of(counts, nranks, *width);
    const uint64_t least = (*width - 1) * AMPED_IDP_COUNT + 1;
    if (amped_partition_width(dim) <= *width)
      return dim < least ? least : dim;
  }
}

/* Elements that a thread processes at a time; likewise words of 64 bits. */
#define SHARE (UINT64_C(1) << 14)
#define WORDS (UINT64_C(1) << 10)
/* Numbers computed before they are stored. */
#define LINE UINT64_C(512)

/* Words processed in the time of sorting one entry. */
#define WORDS_OF_ENTRY 4

static const char what[] = "the rows of a batch";

static uint64_t end_of(uint64_t piece, uint64_t length, uint64_t count) {
  return (piece + 1) * length < count ? (piece + 1) * length : count;
}

/* --- owners ----------------------------------------------------------------------------------- */

/* Touched rows, counted by owner and by piece of the traversal. */
typedef struct census {
  uint64_t nranks, pieces;
  uint64_t *table; /* [pieces + 1][nranks] row i + 1: counts of piece i; row 0: zeros. After
                      give_ranges, row i: the first new number of each owner in piece i */
  uint64_t *rows;  /* [pieces + 1] rows of all owners before a piece */
} census;

static amped_status open_census(census *c, uint64_t pieces, int nranks) {
  *c = (census){.nranks = (uint64_t)nranks, .pieces = pieces};
  amped_status status = amped_calloc(&c->table, (pieces + 1) * c->nranks, sizeof *c->table, what);
  if (status == AMPED_OK)
    status = amped_calloc(&c->rows, pieces + 1, sizeof *c->rows, what);
  return status;
}

static void close_census(census *c) {
  amped_free(c->table);
  amped_free(c->rows);
}

static void add_pieces(census *c) {
  for (uint64_t i = 0; i < c->pieces; i++) {
    const uint64_t *own = c->table + (i + 1) * c->nranks;
    c->rows[i + 1] = c->rows[i];
    for (uint64_t p = 0; p < c->nranks; p++)
      c->rows[i + 1] += own[p];
  }
}

/* Turns the table's counts into new row numbers: row i becomes each owner's first number in piece
 * i. Sets dim and owners. */
static amped_status give_ranges(amped_touched *t, census *c, uint64_t *counts) {
  const int nranks = (int)c->nranks;
  uint64_t width = 0;
  uint64_t first = 0;
  for (uint64_t i = 0; i < c->pieces * c->nranks; i++)
    counts[i % c->nranks] += c->table[c->nranks + i];
  t->dim = find_dim(counts, t->count, nranks, &width);
  AMPED_TRY(amped_calloc(&t->owners, amped_ceil_div(t->dim, width), sizeof *t->owners, what));
  for (int p = 0; p < nranks; p++) {
    c->table[p] = first;
    const uint64_t end = first + amped_ceil_div(counts[p], width) * width;
    for (; first < end; first += width)
      t->owners[first / width] = p;
  }
  for (uint64_t i = 0; i < c->pieces * c->nranks; i++)
    c->table[c->nranks + i] += c->table[i];
  return AMPED_OK;
}

/* Ends the counting: from now on the table holds numbers. A single rank's rows get ascending
 * numbers, so that it needs no list. */
static amped_status begin_numbers(amped_touched *t, census *c) {
  uint64_t *counts = NULL;
  add_pieces(c);
  t->count = c->rows[c->pieces];
  AMPED_TRY(amped_calloc(&counts, c->nranks, sizeof *counts, what));
  amped_status status = give_ranges(t, c, counts);
  amped_free(counts);
  if (status == AMPED_OK && c->nranks > 1)
    status = amped_alloc(&t->numbers, t->count, sizeof *t->numbers, what);
  return status;
}

/* --- one bit per row -------------------------------------------------------------------------- */

bool amped_touched_has_bits(uint64_t entries, uint64_t dim) {
  return dim / 64 / WORDS_OF_ENTRY <= entries;
}

/* Number of bit sets. Threads that mark bits of the same words wait for each other. So each thread
 * has its own words, as long as words are few compared with the entries. */
static uint64_t sets_for(uint64_t count, uint64_t words) {
  const uint64_t threads = (uint64_t)omp_get_max_threads();
  const uint64_t most = words < count ? 2 * count / words : 1;
  return threads < most ? threads : most;
}

static void mark_part(const uint64_t *indices, uint64_t first, uint64_t end, uint64_t words,
                      uint64_t *bits) {
  memset(bits, 0, words * sizeof *bits);
  for (uint64_t k = first; k < end; k++)
    bits[indices[k] / 64] |= UINT64_C(1) << indices[k] % 64;
}

static void join_sets(uint64_t words, uint64_t more, const uint64_t *sets, uint64_t *bits) {
#pragma omp parallel for schedule(static)
  for (uint64_t i = 0; i < amped_ceil_div(words, WORDS); i++)
    for (uint64_t s = 0; s < more; s++)
      for (uint64_t w = i * WORDS; w < end_of(i, WORDS, words); w++)
        bits[w] |= sets[s * words + w];
}

amped_status amped_touched_mark(const uint64_t *indices, uint64_t count, uint64_t dim,
                                uint64_t **bits) {
  const uint64_t words = amped_touched_words(dim);
  const uint64_t sets = sets_for(count, words);
  const uint64_t part = amped_ceil_div(count, sets);
  uint64_t *more = NULL;
  AMPED_TRY(amped_alloc(bits, words, sizeof **bits, what));
  amped_status status = amped_alloc(&more, words * (sets - 1), sizeof *more, what);
  if (status == AMPED_OK) {
#pragma omp parallel for schedule(static, 1)
    for (uint64_t i = 0; i < sets; i++)
      mark_part(indices, i * part < count ? i * part : count, end_of(i, part, count), words,
                i == 0 ? *bits : more + (i - 1) * words);
    join_sets(words, sets - 1, more, *bits);
    amped_free(more);
    return AMPED_OK;
  }
  amped_free(*bits);
  *bits = NULL;
  return status;
}

static uint64_t ones(uint64_t word) {
  return (uint64_t)__builtin_popcountll(word);
}

/* The owner of the word after one of owner p. */
static uint64_t next_owner(const census *c, uint64_t p) {
  return p + 1 < c->nranks ? p + 1 : 0;
}

static void count_bits(const uint64_t *bits, uint64_t words, census *c) {
#pragma omp parallel for schedule(static)
  for (uint64_t i = 0; i < c->pieces; i++) {
    uint64_t *own = c->table + (i + 1) * c->nranks;
    uint64_t p = i * WORDS % c->nranks;
    for (uint64_t w = i * WORDS; w < end_of(i, WORDS, words); w++, p = next_owner(c, p))
      own[p] += ones(bits[w]);
  }
}

static void list_bits(amped_touched *t, const uint64_t *bits, uint64_t words, census *c) {
#pragma omp parallel for schedule(static)
  for (uint64_t i = 0; i < c->pieces; i++) {
    uint64_t *next = c->table + i * c->nranks;
    uint64_t p = i * WORDS % c->nranks;
    uint64_t at = c->rows[i];
    for (uint64_t w = i * WORDS; w < end_of(i, WORDS, words); w++, p = next_owner(c, p)) {
      t->words[w] = (amped_touched_word){bits[w], next[p]};
      for (uint64_t rest = bits[w]; rest != 0; rest &= rest - 1) {
        if (t->numbers != NULL)
          t->numbers[at] = next[p];
        next[p]++;
        t->rows[at++] = w * 64 + (uint64_t)__builtin_ctzll(rest);
      }
    }
  }
}

static amped_status find_by_bits(amped_touched *t, const uint64_t *bits, uint64_t words,
                                 census *c) {
  AMPED_TRY(amped_alloc(&t->words, words, sizeof *t->words, what));
  count_bits(bits, words, c);
  AMPED_TRY(begin_numbers(t, c));
  AMPED_TRY(amped_alloc(&t->rows, t->count, sizeof *t->rows, what));
  list_bits(t, bits, words, c);
  return AMPED_OK;
}

amped_status amped_touched_of_bits(amped_touched *t, const uint64_t *bits, uint64_t dim,
                                   int nranks) {
  const uint64_t words = amped_touched_words(dim);
  census c;
  *t = (amped_touched){.count = 0};
  amped_status status = open_census(&c, amped_ceil_div(words, WORDS), nranks);
  if (status == AMPED_OK)
    status = find_by_bits(t, bits, words, &c);
  close_census(&c);
  if (status != AMPED_OK)
    amped_touched_free(t);
  return status;
}

/* --- rows in order ---------------------------------------------------------------------------- */

/* Indices in ascending order. */
typedef struct sorted {
  const uint64_t *indices;
  amped_order order;
} sorted;

static uint64_t row_at(const sorted *s, uint64_t k) {
  return s->order.keyed ? amped_order_key(&s->order, k) : s->indices[amped_order_at(&s->order, k)];
}

static bool is_new_row(const sorted *s, uint64_t k) {
  return k == 0 || row_at(s, k) != row_at(s, k - 1);
}

static void count_rows(const sorted *s, int nranks, census *c) {
#pragma omp parallel for schedule(static)
  for (uint64_t i = 0; i < c->pieces; i++)
    for (uint64_t k = i * SHARE; k < end_of(i, SHARE, s->order.count); k++)
      if (is_new_row(s, k))
        c->table[(i + 1) * c->nranks + (uint64_t)amped_stream_owner(row_at(s, k), nranks)]++;
}

static void list_rows(const sorted *s, int nranks, amped_touched *t, census *c) {
#pragma omp parallel for schedule(static)
  for (uint64_t i = 0; i < c->pieces; i++) {
    uint64_t at = c->rows[i];
    for (uint64_t k = i * SHARE; k < end_of(i, SHARE, s->order.count); k++) {
      if (!is_new_row(s, k))
        continue;
      const uint64_t row = row_at(s, k);
      if (t->numbers != NULL)
        t->numbers[at] = c->table[i * c->nranks + (uint64_t)amped_stream_owner(row, nranks)]++;
      t->rows[at++] = row;
    }
  }
}

static amped_status find_by_order(amped_touched *t, sorted *s, uint64_t *scratch, uint64_t count,
                                  census *c) {
  const amped_sort_field key = {s->indices, amped_sort_bits(s->indices, count)};
  AMPED_TRY(amped_sort_order(count, &key, 1, scratch, scratch + count, &s->order));
  count_rows(s, (int)c->nranks, c);
  AMPED_TRY(begin_numbers(t, c));
  AMPED_TRY(amped_alloc(&t->rows, t->count, sizeof *t->rows, what));
  list_rows(s, (int)c->nranks, t, c);
  return AMPED_OK;
}

amped_status amped_touched_of_indices(amped_touched *t, const uint64_t *indices, uint64_t count,
                                      int nranks) {
  sorted s = {.indices = indices};
  uint64_t *scratch = NULL;
  census c;
  *t = (amped_touched){.count = 0};
  amped_status status = open_census(&c, amped_ceil_div(count, SHARE), nranks);
  if (status == AMPED_OK)
    status = amped_alloc(&scratch, count, 2 * sizeof *scratch, what);
  if (status == AMPED_OK)
    status = find_by_order(t, &s, scratch, count, &c);
  amped_free(scratch);
  close_census(&c);
  if (status != AMPED_OK)
    amped_touched_free(t);
  return status;
}

void amped_touched_free(amped_touched *t) {
  amped_free(t->rows);
  amped_free(t->numbers);
  amped_free(t->owners);
  amped_free(t->words);
  memset(t, 0, sizeof *t);
}

/* --- numbers of entries ----------------------------------------------------------------------- */

static uint64_t number_of(const amped_touched *t, uint64_t row) {
  if (t->words == NULL)
    return amped_touched_number(t, amped_sort_find(t->rows, t->count, row));
  const amped_touched_word *word = &t->words[row / 64];
  return word->first + ones(word->bits & ((UINT64_C(1) << row % 64) - 1));
}

void amped_touched_number_all(const amped_touched *t, const uint64_t *indices, uint64_t count,
                              amped_itype type, void *numbers) {
#pragma omp parallel for schedule(static)
  for (uint64_t i = 0; i < amped_ceil_div(count, LINE); i++) {
    uint64_t line[LINE];
    const uint64_t first = i * LINE;
    const uint64_t n = end_of(i, LINE, count) - first;
    for (uint64_t k = 0; k < n; k++)
      line[k] = number_of(t, indices[first + k]);
    amped_indices_put(numbers, type, first, n, line);
  }
}
