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

static amped_status number_rows(amped_touched *t, int nranks, uint64_t *counts, uint64_t *next) {
  uint64_t width = 0;
  uint64_t first = 0;
  for (uint64_t k = 0; k < t->count; k++)
    counts[amped_stream_owner(t->rows[k], nranks)]++;
  t->dim = find_dim(counts, t->count, nranks, &width);
  const uint64_t idps = amped_ceil_div(t->dim, width);
  AMPED_TRY(amped_calloc(&t->owners, idps, sizeof *t->owners, "the rows of a batch"));
  for (int p = 0; p < nranks; p++) {
    next[p] = first;
    const uint64_t end = first + amped_ceil_div(counts[p], width) * width;
    for (; first < end; first += width)
      t->owners[first / width] = p;
  }
  for (uint64_t k = 0; k < t->count; k++)
    t->numbers[k] = next[amped_stream_owner(t->rows[k], nranks)]++;
  return AMPED_OK;
}

amped_status amped_touched_create(amped_touched *t, uint64_t *rows, uint64_t count, int nranks) {
  uint64_t *counts = NULL;
  *t = (amped_touched){.count = count, .rows = rows};
  amped_status status =
      amped_calloc(&counts, 2 * (uint64_t)nranks, sizeof *counts, "the rows of a batch");
  if (status == AMPED_OK)
    status = amped_alloc(&t->numbers, count, sizeof *t->numbers, "the rows of a batch");
  if (status == AMPED_OK)
    status = number_rows(t, nranks, counts, counts + nranks);
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

uint64_t amped_touched_number(const amped_touched *t, uint64_t row) {
  uint64_t low = 0; /* it is at low or behind */
  uint64_t high = t->count;
  while (high - low > 1) {
    const uint64_t middle = low + (high - low) / 2;
    if (t->rows[middle] <= row)
      low = middle;
    else
      high = middle;
  }
  return t->numbers[low];
}
