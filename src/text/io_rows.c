/* Rows: memory for the nonzeros that pieces of a text are parsed into. */
#include "text/io_rows.h"

#include <string.h>

#include "base/mem.h"

/* Rows after which the total number can be estimated. */
#define ENOUGH_ROWS (UINT64_C(1) << 20)

static amped_status resize(amped_rows *rows, uint64_t capacity) {
  amped_sptensor *t = rows->tensor;
  for (int m = 0; m < t->order; m++)
    AMPED_TRY(amped_realloc(&t->indices[m], capacity, sizeof **t->indices, "nonzeros"));
  AMPED_TRY(amped_realloc(&t->values, capacity, sizeof *t->values, "nonzeros"));
  rows->capacity = capacity;
  return AMPED_OK;
}

/* Set piece->row of every piece; *end is the most rows in all. Returns false if 64 bits are too
 * few. */
static bool place_pieces(const amped_rows *rows, amped_piece *pieces, int count, uint64_t *end) {
  *end = rows->tensor->nnz;
  for (int i = 0; i < count; i++) {
    uint64_t most = (uint64_t)(pieces[i].end - pieces[i].begin) / rows->least_bytes;
    pieces[i].row = *end;
    if (!amped_add(*end, most < pieces[i].lines ? most : pieces[i].lines, end))
      return false;
  }
  return true;
}

static amped_status empty(amped_rows *rows) {
  uint64_t before = rows->tensor->nnz;
  AMPED_TRY(rows->overflow->take(rows->overflow->context, rows->tensor, rows->fraction));
  rows->taken += before - rows->tensor->nnz;
  return AMPED_OK;
}

/* Estimate the rows of the whole input, with 1/16 in reserve; 0: unknown. Arrays that are never
 * resized stay in place and on large pages. Only if memory is bounded: a compressed input may
 * expand to any size. */
static uint64_t expected(const amped_rows *rows, uint64_t most) {
  const uint64_t nnz = rows->tensor->nnz;
  if (rows->overflow == NULL || nnz < ENOUGH_ROWS || !(rows->fraction > 0.0))
    return 0;
  const double all = (double)nnz * (1.0 + 1.0 / 16) / rows->fraction;
  return all < (double)most ? (uint64_t)all : most;
}

amped_status amped_rows_reserve(amped_rows *rows, amped_piece *pieces, int count) {
  uint64_t need = 0;
  uint64_t most = rows->overflow == NULL
                      ? UINT64_MAX
                      : amped_overflow_most(rows->overflow->memory, rows->tensor->order);
  bool fits = place_pieces(rows, pieces, count, &need);
  if (fits && need > most && rows->tensor->nnz > 0) {
    AMPED_TRY(empty(rows));
    fits = place_pieces(rows, pieces, count, &need);
  }
  if (!fits)
    return amped_error(AMPED_FAILED, NULL, "more than 2^64 nonzeros; split the input");
  if (need <= rows->capacity)
    return AMPED_OK;
  /* Growth by half each time keeps the cost of copying linear; pages that are never touched cost
   * nothing. */
  uint64_t capacity = 0;
  if (!amped_add(rows->capacity, rows->capacity / 2, &capacity) || capacity > most)
    capacity = most;
  const uint64_t likely = expected(rows, most);
  capacity = capacity < likely ? likely : capacity;
  return resize(rows, capacity < need ? need : capacity);
}

void amped_rows_close(amped_rows *rows, const amped_piece *pieces, int count, double fraction) {
  amped_sptensor *t = rows->tensor;
  for (int i = 0; i < count; i++) {
    uint64_t from = pieces[i].row;
    if (from != t->nnz && pieces[i].rows > 0) {
      for (int m = 0; m < t->order; m++)
        memmove(t->indices[m] + t->nnz, t->indices[m] + from, pieces[i].rows * sizeof **t->indices);
      memmove(t->values + t->nnz, t->values + from, pieces[i].rows * sizeof *t->values);
    }
    t->nnz += pieces[i].rows;
  }
  rows->fraction = fraction;
}

amped_status amped_rows_finish(amped_rows *rows) {
  return rows->tensor->nnz < rows->capacity ? resize(rows, rows->tensor->nnz) : AMPED_OK;
}
