/* Dense stats: statistics of the cells of a dense tensor, counted while they are read. Host
 * memory. */
#ifndef AMPED_DENSE_STATS_H
#define AMPED_DENSE_STATS_H

#include "base/kahan.h"
#include "tensor/dense_info.h"

typedef struct amped_dense_stats {
  uint64_t nnz;  /* nonzero cells */
  uint64_t hash; /* amped_sptensor_hash of the nonzero cells */
  amped_kahan squares;
  double negative; /* sum of the squares of negative cells */
} amped_dense_stats;

/* A slab: the tensor with the indices of one mode restricted to first .. first + count. */
typedef struct amped_dense_slab {
  int mode;
  uint64_t first, count;
} amped_dense_slab;

/* Add the cells first .. first + count of the slab, in memory order. All threads count; sums do not
 * depend on the number of threads, but on the division into calls. slab NULL: without the hash,
 * which is most of the work. */
void amped_dense_stats_add(amped_dense_stats *stats, const amped_dense_info *info,
                           const amped_dense_slab *slab, uint64_t first, uint64_t count,
                           const void *cells);

/* Store the statistics in info. */
void amped_dense_stats_tell(const amped_dense_stats *stats, amped_dense_info *info);

#endif
