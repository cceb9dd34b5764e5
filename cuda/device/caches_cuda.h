/* Caches of a GPU, as plain numbers, so that decisions that depend on them can be tested without a
 * GPU. */
#ifndef AMPED_CACHES_CUDA_H
#define AMPED_CACHES_CUDA_H

#include <stdbool.h>
#include <stdint.h>

/* shared_bytes: the most shared memory of a thread block. */
typedef struct amped_caches_cuda {
  int multiprocessors;
  uint64_t l2_bytes;
  uint64_t shared_bytes;
  bool groups; /* has products of warp groups: compute capability 9.0 */
} amped_caches_cuda;

#endif
