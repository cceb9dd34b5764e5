#include "io_rows.h"

#include <string.h>

#include "mem.h"

static amped_status resize(amped_rows *rows, uint64_t capacity) {
  amped_sptensor *t = rows->tensor;
  for (int m = 0; m < t->order; m++)
    AMPED_TRY(amped_realloc(&t->indices[m], capacity, sizeof **t->indices, "nonzeros"));
  AMPED_TRY(amped_realloc(&t->values, capacity, sizeof *t->values, "nonzeros"));
  rows->capacity = capacity;
  return AMPED_OK;
}

amped_status amped_rows_reserve(amped_rows *rows, amped_piece *pieces, int count) {
  uint64_t need = rows->tensor->nnz;
  for (int i = 0; i < count; i++) {
    uint64_t most = (uint64_t)(pieces[i].end - pieces[i].begin) / rows->least_bytes;
    pieces[i].row = need;
    if (!amped_add(need, most < pieces[i].lines ? most : pieces[i].lines, &need))
      return amped_error(AMPED_FAILED, NULL, "more than 2^64 nonzeros; split the input");
  }
  if (need <= rows->capacity)
    return AMPED_OK;
  /* Half as much again each time keeps copying linear; pages that are not touched cost nothing. */
  uint64_t capacity = 0;
  if (!amped_add(rows->capacity, rows->capacity / 2, &capacity) || capacity < need)
    capacity = need;
  return resize(rows, capacity);
}

void amped_rows_close(amped_rows *rows, const amped_piece *pieces, int count) {
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
}

amped_status amped_rows_finish(amped_rows *rows) {
  return rows->tensor->nnz < rows->capacity ? resize(rows, rows->tensor->nnz) : AMPED_OK;
}
