/* Blocks of a dense tensor on a GPU (backend/dense_block.h). Twin of
 * src/cpu/dense/dense_block_cpu.c.
 *
 * The GPU packs cells of a slab, from device memory or, if the slab is streamed, from pinned host
 * memory. Contractions take the blocks one after the other; rows of all blocks are made at once. */
#ifndef AMPED_DENSE_BLOCK_CUDA_H
#define AMPED_DENSE_BLOCK_CUDA_H

#include "cuda/dense/slab_cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const amped_dense_block_ops amped_dense_block_cuda;

/* The members of a dense tensor part that blocks use. All are borrowed. */
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
