#include "plan/touched.h"

#include <string.h>

#include "base/mem.h"
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

/* Rows that a thread walks over at a time. */
#define WALK (UINT64_C(1) << 14)

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
  AMPED_TRY(amped_calloc(&t->owners, idps, sizeof *t->owners, "the rows of a batch"));
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
      amped_calloc(&counts, (pieces + 2) * (uint64_t)nranks, sizeof *counts, "the rows of a batch");
  if (status == AMPED_OK)
    status = amped_alloc(&t->numbers, count, sizeof *t->numbers, "the rows of a batch");
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
