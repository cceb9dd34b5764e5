/* Caches of a GPU: plain numbers, so that what depends on them is decided, and tested, without one.
 */
#ifndef AMPED_CACHES_CUDA_H
#define AMPED_CACHES_CUDA_H

#include <stdint.h>

/* shared_bytes: what a thread block can have. */
typedef struct amped_caches_cuda {
  int multiprocessors;
  uint64_t l2_bytes;
  uint64_t shared_bytes;
} amped_caches_cuda;

#endif
