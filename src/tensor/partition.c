#include "tensor/partition.h"

#include <string.h>

#include "base/mem.h"

uint64_t amped_partition_width(uint64_t dim) {
  return amped_ceil_div(dim, AMPED_IDP_COUNT);
}

amped_status amped_partition_begin(amped_partition_count *c, amped_partition *p, uint64_t dim) {
  memset(p, 0, sizeof *p);
  p->dim = dim;
  p->width = amped_partition_width(dim);
  p->idp_count = amped_ceil_div(dim, p->width);
  *c = (amped_partition_count){.p = p};
  return amped_calloc(&p->idp_nnz, p->idp_count, sizeof *p->idp_nnz, "the iDp table");
}

/* The row in hand is complete: one division a row, not one a nonzero. */
static void end_row(amped_partition_count *c) {
  if (c->row_nnz == 0)
    return;
  c->rows++;
  c->p->idp_nnz[c->row / c->p->width] += c->row_nnz;
  c->row_nnz = 0;
}

void amped_partition_append(amped_partition_count *c, const uint64_t *rows, uint64_t n) {
  for (uint64_t k = 0; k < n; k++) {
    if (rows[k] != c->row)
      end_row(c);
    c->row = rows[k];
    c->row_nnz++;
  }
}

void amped_partition_end(amped_partition_count *c) {
  end_row(c);
}

amped_status amped_partition_create(amped_partition *p, uint64_t dim, const uint64_t *rows,
                                    uint64_t nnz) {
  amped_partition_count c;
  AMPED_TRY(amped_partition_begin(&c, p, dim));
  amped_partition_append(&c, rows, nnz);
  amped_partition_end(&c);
  return AMPED_OK;
}

void amped_partition_free(amped_partition *p) {
  amped_free(p->idp_nnz);
  memset(p, 0, sizeof *p);
}
