#include "tensor/partition.h"

#include <string.h>

#include "base/mem.h"

uint64_t amped_partition_width(uint64_t dim) {
  return amped_ceil_div(dim, AMPED_IDP_COUNT);
}

amped_status amped_partition_begin(amped_partition_count *c, amped_partition *p, uint64_t dim,
                                   uint64_t nnz) {
  memset(p, 0, sizeof *p);
  p->dim = dim;
  p->width = amped_partition_width(dim);
  p->idp_count = amped_ceil_div(dim, p->width);
  *c = (amped_partition_count){.p = p, .nnz = nnz};
  return amped_calloc(&p->idp_nnz, p->idp_count, sizeof *p->idp_nnz, "the iDp table");
}

/* The row in hand is complete: count it, and store it where it is heavy. */
static amped_status end_row(amped_partition_count *c) {
  amped_partition *p = c->p;
  uint64_t count = c->done - c->first;
  if (count == 0)
    return AMPED_OK;
  c->rows++;
  p->idp_nnz[c->row / p->width] += count;
  if (count <= c->nnz / AMPED_HEAVY_SHARE)
    return AMPED_OK;
  /* Fewer than AMPED_HEAVY_SHARE rows can be heavy when nnz is that large; every row of a small
   * tensor may be. */
  AMPED_TRY(amped_realloc(&p->heavy, p->heavy_count + 1, sizeof *p->heavy, "the heavy rows"));
  p->heavy[p->heavy_count++] = (amped_heavy_row){c->row, c->first, count};
  return AMPED_OK;
}

amped_status amped_partition_append(amped_partition_count *c, const uint64_t *rows, uint64_t n) {
  for (uint64_t k = 0; k < n; k++, c->done++) {
    if (rows[k] == c->row && c->done > 0)
      continue;
    AMPED_TRY(end_row(c));
    c->row = rows[k];
    c->first = c->done;
  }
  return AMPED_OK;
}

amped_status amped_partition_end(amped_partition_count *c) {
  return end_row(c);
}

amped_status amped_partition_create(amped_partition *p, uint64_t dim, const uint64_t *rows,
                                    uint64_t nnz) {
  amped_partition_count c;
  amped_status status = AMPED_OK;
  AMPED_GO(fail, amped_partition_begin(&c, p, dim, nnz));
  AMPED_GO(fail, amped_partition_append(&c, rows, nnz));
  AMPED_GO(fail, amped_partition_end(&c));
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
