/* Products of a slab of cells on the GPU: sums over its cells x of x x and x m, with the model's
 * values m. Twin of src/cpu/dense/dense_products_cpu.h.
 *
 * Call between amped_products_cuda_begin and amped_products_cuda_end, with the same args. It reads
 * their d_room, weights, scale, sizes and stream. Pointers are device memory. Nothing waits. */
#ifndef AMPED_DENSE_PRODUCTS_CUDA_H
#define AMPED_DENSE_PRODUCTS_CUDA_H

#include "cuda/sorted/products_cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct amped_products_slab_cuda {
  amped_cell_type type;
  const void *cells;
  int order;
  uint64_t dims[AMPED_MAX_ORDER];       /* dimensions of the slab in memory order, slowest first */
  const void *factors[AMPED_MAX_ORDER]; /* dims[i] rows each, of args' value type and ld */
} amped_products_slab_cuda;

amped_status amped_dense_products_cuda(const amped_products_cuda_args *args,
                                       const amped_products_slab_cuda *slab);

#ifdef __cplusplus
}
#endif

#endif
