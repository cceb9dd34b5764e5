/* Partition: counting the nonzeros of iDps. */
#include "tensor/partition.h"

#include <string.h>

#include "base/mem.h"

/* Rows that one thread counts at a time. */
#define BLOCK UINT64_C(1024)

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

/* Adds the nonzeros of a row: one division per row, not per nonzero. Atomic, because threads may
 * count in the same iDp. */
static void add_row(const amped_partition *p, uint64_t row, uint64_t nnz) {
  uint64_t *count = &p->idp_nnz[row / p->width];
#pragma omp atomic
  *count += nnz;
}

/* Counts a block of n nonzeros; rows[k]: the row of nonzero k, ascending. Returns the number of
 * rows that begin after nonzero 0. */
static uint64_t add_block(const amped_partition *p, const uint64_t *rows, uint64_t n) {
  uint64_t begins = 0;
  uint64_t row = 0; /* its first nonzero */
  for (uint64_t k = 1; k < n; k++)
    if (rows[k] != rows[k - 1]) {
      add_row(p, rows[row], k - row);
      row = k;
      begins++;
    }
  add_row(p, rows[row], n - row);
  return begins;
}

void amped_partition_append(amped_partition_count *c, const void *rows, amped_itype type,
                            uint64_t n) {
  const uint64_t blocks = amped_ceil_div(n, BLOCK);
  uint64_t begins = 0;
#pragma omp parallel for schedule(static) reduction(+ : begins) if (blocks > 4)
  for (uint64_t b = 0; b < blocks; b++) {
    uint64_t block[BLOCK];
    const uint64_t first = b * BLOCK;
    const uint64_t count = n - first < BLOCK ? n - first : BLOCK;
    const uint64_t before = b > 0 ? amped_index_get(rows, type, first - 1) : c->row;
    amped_indices_get(rows, type, first, count, block);
    begins += (b == 0 && c->rows == 0) || block[0] != before;
    begins += add_block(c->p, block, count);
  }
  c->rows += begins;
  c->row = n > 0 ? amped_index_get(rows, type, n - 1) : c->row;
}

amped_status amped_partition_create(amped_partition *p, uint64_t dim, const uint64_t *rows,
                                    uint64_t nnz) {
  amped_partition_count c;
  AMPED_TRY(amped_partition_begin(&c, p, dim));
  amped_partition_append(&c, rows, AMPED_U64, nnz);
  return AMPED_OK;
}

void amped_partition_free(amped_partition *p) {
  amped_free(p->idp_nnz);
  memset(p, 0, sizeof *p);
}
