/* Dense stats: parallel sums and hashes over blocks of cells. */
#include "tensor/dense_stats.h"

#include "tensor/sptensor.h"

/* BLOCK: cells that a thread counts at a time. BLOCKS: blocks whose sums are added in order
 * together. */
#define BLOCK UINT64_C(4096)
#define BLOCKS 1024

static uint64_t slab_dim(const amped_dense_info *info, const amped_dense_slab *slab, int mode) {
  return mode == slab->mode ? slab->count : info->dims[mode];
}

/* Finds the indices in the tensor of cell `number` of the slab. */
static void find_index(const amped_dense_info *info, const amped_dense_slab *slab, uint64_t number,
                       uint64_t *index) {
  uint64_t dims[AMPED_MAX_ORDER];
  for (int m = 0; m < info->order; m++)
    dims[m] = slab_dim(info, slab, m);
  amped_dense_index(info->order, dims, info->layout, number, index);
  index[slab->mode] += slab->first;
}

/* Moves to the first cell of the next row: a row is all indices of the last mode in memory. */
static void next_row(const amped_dense_info *info, const amped_dense_slab *slab, uint64_t *index) {
  for (int k = info->order - 1; k >= 0; k--) {
    const int m = info->layout[k];
    const uint64_t begin = m == slab->mode ? slab->first : 0;
    const bool is_row = k == info->order - 1;
    if (!is_row && ++index[m] < begin + slab_dim(info, slab, m))
      return;
    index[m] = begin;
  }
}

/* The hash of cells of a row, from `index` on. */
static inline uint64_t hash_cells(int order, const uint64_t *index, int along, uint64_t count,
                                  const double *values) {
  uint64_t sum = 0;
  for (uint64_t i = 0; i < count; i++) {
    uint64_t hash = amped_hash_value(values[i]);
    for (int m = 0; m < order; m++)
      hash = amped_hash_index(hash, index[m] + (m == along ? i : 0));
    sum += values[i] != 0.0 ? hash : 0;
  }
  return sum;
}

/* The hash of a row. The compiler unrolls the loop over modes if their number is constant. */
static uint64_t hash_row(const amped_dense_info *info, const uint64_t *index, uint64_t count,
                         const double *values) {
  const int along = info->layout[info->order - 1];
  if (info->order == 3)
    return along == 2 ? hash_cells(3, index, 2, count, values)
                      : hash_cells(3, index, along, count, values);
  return info->order == 4 ? hash_cells(4, index, along, count, values)
                          : hash_cells(info->order, index, along, count, values);
}

static void add_block_hashless(amped_dense_stats *stats, uint64_t count, const double *values) {
  double squares = 0.0;
  for (uint64_t i = 0; i < count; i++) {
    stats->nnz += values[i] != 0.0;
    squares += values[i] * values[i];
    stats->negative += values[i] < 0.0 ? values[i] * values[i] : 0.0;
  }
  amped_kahan_add(&stats->squares, squares);
}

static void add_block(amped_dense_stats *stats, const amped_dense_info *info,
                      const amped_dense_slab *slab, uint64_t first, uint64_t count,
                      const double *values) {
  uint64_t index[AMPED_MAX_ORDER];
  uint64_t nnz = 0;
  double negative = 0.0;
  long double squares = 0.0L;
  const int along = info->layout[info->order - 1];
  const uint64_t end = (along == slab->mode ? slab->first : 0) + slab_dim(info, slab, along);
  find_index(info, slab, first, index);
  for (uint64_t done = 0, n = 0; done < count; done += n) {
    n = end - index[along] < count - done ? end - index[along] : count - done;
    stats->hash += hash_row(info, index, n, values + done);
    next_row(info, slab, index);
  }
  for (uint64_t i = 0; i < count; i++) {
    const double below = values[i] < 0.0 ? values[i] : 0.0;
    nnz += values[i] != 0.0;
    squares += (long double)values[i] * values[i];
    negative += below * below;
  }
  stats->nnz += nnz;
  stats->negative += negative;
  amped_kahan_add(&stats->squares, squares);
}

/* Adds at most BLOCKS blocks. */
static void add_blocks(amped_dense_stats *stats, const amped_dense_info *info,
                       const amped_dense_slab *slab, uint64_t first, uint64_t count,
                       const void *cells, uint64_t at) {
  amped_dense_stats parts[BLOCKS];
  const uint64_t blocks = amped_ceil_div(count, BLOCK);
#pragma omp parallel for schedule(static)
  for (uint64_t b = 0; b < blocks; b++) {
    double values[BLOCK];
    const uint64_t begin = b * BLOCK;
    const uint64_t n = count - begin < BLOCK ? count - begin : BLOCK;
    parts[b] = (amped_dense_stats){.nnz = 0};
    amped_cells_get(cells, info->type, at + begin, n, values);
    if (slab == NULL)
      add_block_hashless(&parts[b], n, values);
    else
      add_block(&parts[b], info, slab, first + begin, n, values);
  }
  for (uint64_t b = 0; b < blocks; b++) {
    stats->nnz += parts[b].nnz;
    stats->hash += parts[b].hash;
    amped_kahan_join(&stats->squares, &parts[b].squares);
    stats->negative += parts[b].negative;
  }
}

void amped_dense_stats_add(amped_dense_stats *stats, const amped_dense_info *info,
                           const amped_dense_slab *slab, uint64_t first, uint64_t count,
                           const void *cells) {
  for (uint64_t done = 0; done < count;) {
    const uint64_t n = count - done < BLOCKS * BLOCK ? count - done : BLOCKS * BLOCK;
    add_blocks(stats, info, slab, first + done, n, cells, done);
    done += n;
  }
}

void amped_dense_stats_tell(const amped_dense_stats *stats, amped_dense_info *info) {
  info->has_stats = true;
  info->nnz = stats->nnz;
  info->hash = stats->hash;
  info->norm_squared = amped_kahan_value(&stats->squares);
}
