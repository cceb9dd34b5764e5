#include "tensor/dense_stats.h"

#include "tensor/sptensor.h"

/* Cells of one thread at a time, widened on its stack. */
#define PIECE UINT64_C(4096)

/* Go to the next cell. */
static void step(const amped_dense_info *info, uint64_t *index) {
  for (int i = info->order - 1; i >= 0; i--) {
    const int m = info->layout[i];
    if (++index[m] < info->dims[m])
      return;
    index[m] = 0;
  }
}

static amped_dense_stats stats_of(const amped_dense_info *info, uint64_t first, uint64_t count,
                                  const double *cells) {
  amped_dense_stats s = {0};
  uint64_t index[AMPED_MAX_ORDER];
  amped_dense_index(info->order, info->dims, info->layout, first, index);
  for (uint64_t i = 0; i < count; i++) {
    if (cells[i] != 0.0) {
      s.nnz++;
      s.hash += amped_nonzero_hash(info->order, index, cells[i]);
      amped_kahan_add(&s.squares, (long double)cells[i] * cells[i]);
    }
    step(info, index);
  }
  return s;
}

void amped_dense_stats_add(amped_dense_stats *stats, const amped_dense_info *info, uint64_t first,
                           uint64_t count, const void *cells) {
#pragma omp parallel for schedule(static) if (count > PIECE)
  for (uint64_t at = 0; at < count; at += PIECE) {
    double piece[PIECE];
    const uint64_t n = count - at < PIECE ? count - at : PIECE;
    amped_cells_get(cells, info->type, at, n, piece);
    const amped_dense_stats s = stats_of(info, first + at, n, piece);
#pragma omp critical(dense_stats)
    {
      stats->nnz += s.nnz;
      stats->hash += s.hash;
      amped_kahan_join(&stats->squares, &s.squares);
    }
  }
}

void amped_dense_stats_tell(const amped_dense_stats *stats, amped_dense_info *info) {
  info->has_stats = true;
  info->nnz = stats->nnz;
  info->hash = stats->hash;
  info->norm_squared = amped_kahan_value(&stats->squares);
}
