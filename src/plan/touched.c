#include "plan/touched.h"

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

/* Numbers that owners' rows take, each owner's up to a multiple of width. */
static uint64_t numbers_of(const uint64_t *counts, int nranks, uint64_t width) {
  uint64_t sum = 0;
  for (int p = 0; p < nranks; p++)
    sum += amped_ceil_div(counts[p], width) * width;
  return sum;
}

/* The dimension that has this width, and room for all. */
static uint64_t find_dim(const uint64_t *counts, uint64_t count, int nranks, uint64_t *width) {
  for (*width = amped_partition_width(count);; ++*width) {
    const uint64_t dim = numbers_of(counts, nranks, *width);
    const uint64_t least = (*width - 1) * AMPED_IDP_COUNT + 1;
    if (amped_partition_width(dim) <= *width)
      return dim < least ? least : dim;
  }
}

/* Elements that a thread walks over at a time; and words of 64 bits. */
#define WALK (UINT64_C(1) << 14)
#define WORDS (UINT64_C(1) << 10)

static const char what[] = "the rows of a batch";

/* --- finding ---------------------------------------------------------------------------------- */

/* before[i + 1] is of piece i: it becomes what pieces before i + 1 have. */
static uint64_t add_up(uint64_t *before, uint64_t pieces) {
  for (uint64_t i = 0; i < pieces; i++)
    before[i + 1] += before[i];
  return before[pieces];
}

static uint64_t end_of(uint64_t piece, uint64_t length, uint64_t count) {
  return (piece + 1) * length < count ? (piece + 1) * length : count;
}

/* A set of rows: a bit each, in words; before[w]: rows in the words before w. */
typedef struct row_set {
  uint64_t words;
  uint64_t *bits, *before;
} row_set;

/* Most bits are there already where rows have many entries: these are read alone. */
static void mark_rows(const row_set *s, const uint64_t *indices, uint64_t count) {
#pragma omp parallel for schedule(static)
  for (uint64_t k = 0; k < count; k++) {
    uint64_t *word = &s->bits[indices[k] / 64];
    const uint64_t bit = UINT64_C(1) << indices[k] % 64;
    uint64_t there = 0;
#pragma omp atomic read
    there = *word;
    if ((there & bit) != 0)
      continue;
#pragma omp atomic
    *word |= bit;
  }
}

static uint64_t ones(uint64_t word) {
  return (uint64_t)__builtin_popcountll(word);
}

/* of_pieces: [pieces + 1] zeros. Returns the rows of all words. */
static uint64_t count_marks(const row_set *s, uint64_t *of_pieces) {
  const uint64_t pieces = amped_ceil_div(s->words, WORDS);
#pragma omp parallel for schedule(static)
  for (uint64_t i = 0; i < pieces; i++) {
    uint64_t sum = 0;
    for (uint64_t w = i * WORDS; w < end_of(i, WORDS, s->words); w++)
      sum += ones(s->bits[w]);
    of_pieces[i + 1] = sum;
  }
  return add_up(of_pieces, pieces);
}

static void list_marks(const row_set *s, const uint64_t *of_pieces, uint64_t *rows) {
#pragma omp parallel for schedule(static)
  for (uint64_t i = 0; i < amped_ceil_div(s->words, WORDS); i++) {
    uint64_t at = of_pieces[i];
    for (uint64_t w = i * WORDS; w < end_of(i, WORDS, s->words); w++) {
      s->before[w] = at;
      for (uint64_t rest = s->bits[w]; rest != 0; rest &= rest - 1)
        rows[at++] = w * 64 + (uint64_t)__builtin_ctzll(rest);
    }
  }
}

static void place_entries(const row_set *s, const uint64_t *indices, uint64_t count,
                          uint64_t *places) {
#pragma omp parallel for schedule(static)
  for (uint64_t k = 0; k < count; k++) {
    const uint64_t w = indices[k] / 64;
    const uint64_t below = (UINT64_C(1) << indices[k] % 64) - 1;
    places[k] = s->before[w] + ones(s->bits[w] & below);
  }
}

static amped_status find_by_bits(const uint64_t *indices, uint64_t count, uint64_t dim,
                                 uint64_t *places, uint64_t **rows, uint64_t *found) {
  row_set s = {.words = amped_ceil_div(dim, UINT64_C(64))};
  uint64_t *of_pieces = NULL;
  amped_status status = AMPED_OK;
  AMPED_GO(done, amped_calloc(&s.bits, s.words, sizeof *s.bits, what));
  AMPED_GO(done, amped_alloc(&s.before, s.words, sizeof *s.before, what));
  AMPED_GO(done,
           amped_calloc(&of_pieces, amped_ceil_div(s.words, WORDS) + 1, sizeof *of_pieces, what));
  mark_rows(&s, indices, count);
  *found = count_marks(&s, of_pieces);
  AMPED_GO(done, amped_alloc(rows, *found, sizeof **rows, what));
  list_marks(&s, of_pieces, *rows);
  place_entries(&s, indices, count, places);
done:
  amped_free(s.bits);
  amped_free(s.before);
  amped_free(of_pieces);
  return status;
}

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

/* of_pieces: as above, of entries. */
static uint64_t count_rows(const sorted *s, uint64_t *of_pieces) {
  const uint64_t pieces = amped_ceil_div(s->order.count, WALK);
#pragma omp parallel for schedule(static)
  for (uint64_t i = 0; i < pieces; i++) {
    uint64_t sum = 0;
    for (uint64_t k = i * WALK; k < end_of(i, WALK, s->order.count); k++)
      sum += is_new_row(s, k);
    of_pieces[i + 1] = sum;
  }
  return add_up(of_pieces, pieces);
}

static void list_rows(const sorted *s, const uint64_t *of_pieces, uint64_t *rows,
                      uint64_t *places) {
#pragma omp parallel for schedule(static)
  for (uint64_t i = 0; i < amped_ceil_div(s->order.count, WALK); i++) {
    uint64_t j = of_pieces[i];
    for (uint64_t k = i * WALK; k < end_of(i, WALK, s->order.count); k++) {
      if (is_new_row(s, k))
        rows[j++] = row_at(s, k);
      places[amped_order_at(&s->order, k)] = j - 1;
    }
  }
}

static amped_status find_by_order(const uint64_t *indices, uint64_t count, uint64_t *places,
                                  uint64_t **rows, uint64_t *found) {
  sorted s = {.indices = indices};
  const amped_sort_field key = {indices, amped_sort_bits(indices, count)};
  uint64_t *scratch = NULL;
  uint64_t *of_pieces = NULL;
  amped_status status = AMPED_OK;
  AMPED_GO(done, amped_alloc(&scratch, count, 2 * sizeof *scratch, what));
  AMPED_GO(done,
           amped_calloc(&of_pieces, amped_ceil_div(count, WALK) + 1, sizeof *of_pieces, what));
  AMPED_GO(done, amped_sort_order(count, &key, 1, scratch, scratch + count, &s.order));
  *found = count_rows(&s, of_pieces);
  AMPED_GO(done, amped_alloc(rows, *found, sizeof **rows, what));
  list_rows(&s, of_pieces, *rows, places);
done:
  amped_free(scratch);
  amped_free(of_pieces);
  return status;
}

/* Bits take no more memory than the sort then, and less time. */
amped_status amped_touched_find(const uint64_t *indices, uint64_t count, uint64_t dim,
                                uint64_t *places, uint64_t **rows, uint64_t *found) {
  *rows = NULL;
  *found = 0;
  return dim / 64 <= count ? find_by_bits(indices, count, dim, places, rows, found)
                           : find_by_order(indices, count, places, rows, found);
}

/* --- numbering -------------------------------------------------------------------------------- */

/* Row p of the table: for each owner, its rows in piece p; row 0 stays. */
static void count_owners(const amped_touched *t, int nranks, uint64_t pieces, uint64_t *table) {
#pragma omp parallel for schedule(static)
  for (uint64_t i = 0; i < pieces; i++)
    for (uint64_t k = i * WALK; k < t->count && k < (i + 1) * WALK; k++)
      table[(i + 1) * (uint64_t)nranks + (uint64_t)amped_stream_owner(t->rows[k], nranks)]++;
}

/* Row p of the table has the number of each owner's first row in piece p. */
static void give_numbers(amped_touched *t, int nranks, uint64_t pieces, uint64_t *table) {
#pragma omp parallel for schedule(static)
  for (uint64_t i = 0; i < pieces; i++) {
    uint64_t *next = table + i * (uint64_t)nranks;
    for (uint64_t k = i * WALK; k < t->count && k < (i + 1) * WALK; k++)
      t->numbers[k] = next[amped_stream_owner(t->rows[k], nranks)]++;
  }
}

/* counts: [nranks] zeros. table: [pieces + 1][nranks], too. */
static amped_status number_rows(amped_touched *t, int nranks, uint64_t pieces, uint64_t *counts,
                                uint64_t *table) {
  const uint64_t n = (uint64_t)nranks;
  uint64_t width = 0;
  uint64_t first = 0;
  count_owners(t, nranks, pieces, table);
  for (uint64_t i = 0; i < pieces * n; i++)
    counts[i % n] += table[n + i];
  t->dim = find_dim(counts, t->count, nranks, &width);
  const uint64_t idps = amped_ceil_div(t->dim, width);
  AMPED_TRY(amped_calloc(&t->owners, idps, sizeof *t->owners, what));
  for (int p = 0; p < nranks; p++) {
    table[p] = first;
    const uint64_t end = first + amped_ceil_div(counts[p], width) * width;
    for (; first < end; first += width)
      t->owners[first / width] = p;
  }
  for (uint64_t i = 0; i < pieces * n; i++)
    table[n + i] += table[i];
  give_numbers(t, nranks, pieces, table);
  return AMPED_OK;
}

amped_status amped_touched_create(amped_touched *t, uint64_t *rows, uint64_t count, int nranks) {
  const uint64_t pieces = amped_ceil_div(count, WALK);
  uint64_t *counts = NULL;
  *t = (amped_touched){.count = count, .rows = rows};
  amped_status status =
      amped_calloc(&counts, (pieces + 2) * (uint64_t)nranks, sizeof *counts, what);
  if (status == AMPED_OK)
    status = amped_alloc(&t->numbers, count, sizeof *t->numbers, what);
  if (status == AMPED_OK)
    status = number_rows(t, nranks, pieces, counts, counts + nranks);
  amped_free(counts);
  if (status != AMPED_OK)
    amped_touched_free(t);
  return status;
}

void amped_touched_free(amped_touched *t) {
  amped_free(t->rows);
  amped_free(t->numbers);
  amped_free(t->owners);
  memset(t, 0, sizeof *t);
}
