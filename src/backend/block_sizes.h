/* Block sizes: the numbers of elements that dense blocks take (dense_block.h). Pure functions, for
 * the backends. */
#ifndef AMPED_BLOCK_SIZES_H
#define AMPED_BLOCK_SIZES_H

#include "backend/dense_block.h"

/* Elements over all blocks of a shape: cells, results of contractions, rows; rows of the longest
 * mode. */
typedef struct amped_block_sizes {
  uint64_t cells, t, rows[AMPED_MAX_ORDER], most_rows;
} amped_block_sizes;

/* Returns false if no machine can hold the blocks; then amped_block_sizes_refuse is the status. */
bool amped_block_sizes_find(const amped_plan *plan, const amped_block_shape *shape,
                            amped_block_sizes *sizes);
amped_status amped_block_sizes_refuse(const amped_plan *plan);

/* The plan of one block with the shape's dims. */
amped_dense_plan amped_block_largest(const amped_plan *plan, const amped_block_shape *shape);

/* Elements of the largest contraction result of one block. */
uint64_t amped_block_contracted(const amped_plan *plan, const amped_block_shape *shape);

#endif
