/* Tensor info: facts of a dense tensor, with iDps of cells. */
#include "tensor/tensor_info.h"

#include <string.h>

#include "base/mem.h"

static bool exceeds_cells(const amped_tensor_info *info) {
  uint64_t cells = 1;
  bool fits = true;
  for (int m = 0; m < info->order; m++)
    fits = fits && amped_mul(cells, info->dims[m], &cells);
  return fits && info->nnz > cells;
}

bool amped_tensor_info_repeats(const amped_tensor_info *info) {
  return exceeds_cells(info) ||
         (info->duplicates == AMPED_DUPLICATES_KEEP && (info->has_hash || info->is_searched));
}

void amped_tensor_info_free(amped_tensor_info *info) {
  for (int m = 0; m < AMPED_MAX_ORDER; m++)
    amped_partition_free(&info->partitions[m]);
  amped_dictionary_free(&info->dictionary);
  memset(info, 0, sizeof *info);
}

static amped_status count_cells(const amped_dense_info *dense, int mode, amped_partition *p) {
  const uint64_t cells = dense->cells / dense->dims[mode]; /* cells per index */
  p->dim = dense->dims[mode];
  p->width = amped_partition_width(p->dim);
  p->idp_count = amped_ceil_div(p->dim, p->width);
  AMPED_TRY(amped_alloc(&p->idp_nnz, p->idp_count, sizeof *p->idp_nnz, "a table of iDps"));
  for (uint64_t i = 0; i < p->idp_count; i++) {
    const uint64_t left = p->dim - i * p->width;
    p->idp_nnz[i] = cells * (left < p->width ? left : p->width);
  }
  return AMPED_OK;
}

amped_status amped_tensor_info_of_cells(const amped_dense_info *dense, amped_tensor_info *out) {
  amped_status status = AMPED_OK;
  memset(out, 0, sizeof *out);
  out->order = dense->order;
  memcpy(out->dims, dense->dims, sizeof out->dims);
  out->nnz = dense->cells;
  out->norm_squared = dense->has_stats ? dense->norm_squared : 0.0;
  out->hash = dense->hash;
  out->has_hash = dense->has_stats;
  out->is_merged = true;
  out->value_type = dense->type == AMPED_CELL_F64 ? AMPED_F64 : AMPED_F32;
  out->dense = dense;
  for (int m = 0; m < dense->order; m++) {
    out->index_types[m] = amped_itype_for(dense->dims[m]);
    AMPED_GO(fail, count_cells(dense, m, &out->partitions[m]));
  }
  return AMPED_OK;
fail:
  amped_tensor_info_free(out);
  return status;
}
