/* Blocks of a dense tensor on a GPU (backend/dense_block.h): twin of src/cpu/dense_block_cpu.c.
 *
 * Cells of a slab are packed by the GPU, from its memory or from pinned host memory, where they are
 * streamed. Blocks follow each other through contractions; rows of all blocks are made at once. */
#ifndef AMPED_DENSE_BLOCK_CUDA_H
#define AMPED_DENSE_BLOCK_CUDA_H

#include "cuda/dense/slab_cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const amped_dense_block_ops amped_dense_block_cuda;

/* The members of a dense tensor part that blocks work with. */
typedef struct amped_dense_part_cuda {
  const amped_device *device;
  const amped_plan *plan;
  amped_factor_set *factors;
  amped_slab_cuda *slab;
} amped_dense_part_cuda;

amped_dense_part_cuda amped_dense_part_cuda_of(amped_tensor_part *part);

#ifdef __cplusplus
}
#endif

#endif
