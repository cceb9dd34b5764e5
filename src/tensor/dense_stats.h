/* Dense statistics: what a tensor file tells of its nonzeros, of cells that are not 0. A tensor has
 * the same in its sparse and its dense form (tensor/sptensor.h). Pure functions of host memory; all
 * OpenMP threads work. */
#ifndef AMPED_DENSE_STATS_H
#define AMPED_DENSE_STATS_H

#include "base/kahan.h"
#include "tensor/dense_info.h"

/* Begins as {0}. Sums do not depend on the pieces that cells come in. */
typedef struct amped_dense_stats {
  uint64_t nnz, hash;
  amped_kahan squares;
} amped_dense_stats;

/* Add cells `first` .. first + count of the tensor, as they lie in the layout of info. */
void amped_dense_stats_add(amped_dense_stats *stats, const amped_dense_info *info, uint64_t first,
                           uint64_t count, const void *cells);

/* Put them into info. */
void amped_dense_stats_tell(const amped_dense_stats *stats, amped_dense_info *info);

#endif
