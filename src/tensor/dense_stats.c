/* Dense stats: parallel sums and hashes over blocks of cells. */
#include "tensor/dense_stats.h"

#include <float.h>
#include <math.h>

#include "base/cpu_dispatch.h"
#include "tensor/sptensor.h"

/* BLOCK: cells that a thread counts at a time. BLOCKS: blocks whose sums are added in order
 * together. LANES: sums of a block. */
#define BLOCK UINT64_C(4096)
#define BLOCKS 1024
#define LANES 8

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

/* Hash of a row's cells, from `index` on. */
AMPED_INLINE uint64_t hash_cells(int order, const uint64_t *index, int along, uint64_t count,
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

/* Hash of a row. The compiler unrolls the loop over modes if their number is constant. */
AMPED_INLINE uint64_t hash_row(const amped_dense_info *info, const uint64_t *index, uint64_t count,
                               const double *values) {
  const int along = info->layout[info->order - 1];
  if (info->order == 3)
    return along == 2 ? hash_cells(3, index, 2, count, values)
                      : hash_cells(3, index, along, count, values);
  return info->order == 4 ? hash_cells(4, index, along, count, values)
                          : hash_cells(info->order, index, along, count, values);
}

AMPED_INLINE void count_cell(double x, uint64_t *nnz, double *squares, double *negative) {
  const double below = x < 0.0 ? x : 0.0;
  *nnz += x != 0.0;
  *squares += x * x;
  *negative += below * below;
}

/* Add the cells of a block, without their hash. LANES sums that are added in order at the end have
 * the same bits with vectors of any width. */
AMPED_INLINE void count_cells(amped_dense_stats *stats, uint64_t count, const double *values) {
  uint64_t nnz[LANES] = {0};
  double squares[LANES] = {0.0};
  double negative[LANES] = {0.0};
  const uint64_t even = count - count % LANES;
  for (uint64_t i = 0; i < even; i += LANES)
    for (int k = 0; k < LANES; k++)
      count_cell(values[i + (uint64_t)k], &nnz[k], &squares[k], &negative[k]);
  for (uint64_t i = even; i < count; i++)
    count_cell(values[i], &nnz[0], &squares[0], &negative[0]);
  double sum = 0.0;
  for (int k = 0; k < LANES; k++) {
    stats->nnz += nnz[k];
    stats->negative += negative[k];
    sum += squares[k];
  }
  const bool is_exact = isfinite(sum) && (sum >= DBL_MIN || stats->nnz == 0);
  for (int k = 0; k < LANES && is_exact; k++)
    amped_kahan_add(&stats->squares, squares[k]);
  for (uint64_t i = 0; i < count && !is_exact; i++)
    amped_kahan_add(&stats->squares, (long double)values[i] * values[i]);
}

#define DEFINE(CPU)                                                                                \
  AMPED_TARGET_##CPU static uint64_t hash_##CPU(                                                   \
      const amped_dense_info *info, const uint64_t *index, uint64_t count, const double *values) { \
    return hash_row(info, index, count, values);                                                   \
  }                                                                                                \
  AMPED_TARGET_##CPU static void count_##CPU(amped_dense_stats *stats, uint64_t count,             \
                                             const double *values) {                               \
    count_cells(stats, count, values);                                                             \
  }
AMPED_CPU_DISPATCH(DEFINE)

/* The instances for this processor. */
typedef struct instance {
  bool here;
  uint64_t (*hash)(const amped_dense_info *info, const uint64_t *index, uint64_t count,
                   const double *values);
  void (*count)(amped_dense_stats *stats, uint64_t count, const double *values);
} instance;
static instance find_instance(void) {
#define ROW(CPU) {.here = AMPED_HAS_##CPU, .hash = hash_##CPU, .count = count_##CPU},
  const instance rows[] = {AMPED_CPU_DISPATCH(ROW)};
  size_t i = 0;
  while (!rows[i].here)
    i++;
  return rows[i];
}

static void add_hashes(amped_dense_stats *stats, const instance *cpu, const amped_dense_info *info,
                       const amped_dense_slab *slab, uint64_t first, uint64_t count,
                       const double *values) {
  uint64_t index[AMPED_MAX_ORDER];
  const int along = info->layout[info->order - 1];
  const uint64_t end = (along == slab->mode ? slab->first : 0) + slab_dim(info, slab, along);
  find_index(info, slab, first, index);
  for (uint64_t done = 0, n = 0; done < count; done += n) {
    n = end - index[along] < count - done ? end - index[along] : count - done;
    stats->hash += cpu->hash(info, index, n, values + done);
    next_row(info, slab, index);
  }
}

/* Adds at most BLOCKS blocks. */
static void add_blocks(amped_dense_stats *stats, const instance *cpu, const amped_dense_info *info,
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
    cpu->count(&parts[b], n, values);
    if (slab != NULL)
      add_hashes(&parts[b], cpu, info, slab, first + begin, n, values);
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
  const instance cpu = find_instance();
  for (uint64_t done = 0; done < count;) {
    const uint64_t n = count - done < BLOCKS * BLOCK ? count - done : BLOCKS * BLOCK;
    add_blocks(stats, &cpu, info, slab, first + done, n, cells, done);
    done += n;
  }
}

void amped_dense_stats_tell(const amped_dense_stats *stats, amped_dense_info *info) {
  info->has_stats = true;
  info->nnz = stats->nnz;
  info->hash = stats->hash;
  info->norm_squared = amped_kahan_value(&stats->squares);
}
