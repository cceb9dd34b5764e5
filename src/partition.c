#include "partition.h"

#include <string.h>

#include "mem.h"

uint64_t amped_partition_width(uint64_t dim) {
  return amped_ceil_div(dim, AMPED_IDP_COUNT);
}

/* Store the run rows[first .. end) of one row where it is heavy. */
static amped_status note_row(amped_partition *p, uint64_t row, uint64_t first, uint64_t end,
                             uint64_t nnz) {
  if (end - first <= nnz / AMPED_HEAVY_SHARE)
    return AMPED_OK;
  /* Fewer than AMPED_HEAVY_SHARE rows can be heavy when nnz is that large; every row of a small
   * tensor may be. */
  AMPED_TRY(amped_realloc(&p->heavy, p->heavy_count + 1, sizeof *p->heavy, "the heavy rows"));
  p->heavy[p->heavy_count++] = (amped_heavy_row){row, first, end - first};
  return AMPED_OK;
}

amped_status amped_partition_create(amped_partition *p, uint64_t dim, const uint64_t *rows,
                                    uint64_t nnz) {
  amped_status status = AMPED_OK;
  memset(p, 0, sizeof *p);
  p->dim = dim;
  p->width = amped_partition_width(dim);
  p->idp_count = amped_ceil_div(dim, p->width);
  AMPED_GO(fail, amped_calloc(&p->idp_nnz, p->idp_count, sizeof *p->idp_nnz, "the iDp table"));
  for (uint64_t first = 0; first < nnz;) {
    uint64_t end = first + 1;
    while (end < nnz && rows[end] == rows[first])
      end++;
    p->idp_nnz[rows[first] / p->width] += end - first;
    AMPED_GO(fail, note_row(p, rows[first], first, end, nnz));
    first = end;
  }
  return AMPED_OK;
fail:
  amped_partition_free(p);
  return status;
}

void amped_partition_free(amped_partition *p) {
  amped_free(p->idp_nnz);
  amped_free(p->heavy);
  memset(p, 0, sizeof *p);
}
