/* Grid-stride loops over any number of elements: for (i = thread_number(); i < count; i +=
 * grid_threads()). */
#ifndef AMPED_GRID_CUDA_CUH
#define AMPED_GRID_CUDA_CUH

#include "base/types.h"

namespace {

constexpr int block_threads = 256;

/* Number of threads of the whole grid, and number of this thread. */
__device__ inline uint64_t grid_threads() {
  return (uint64_t)gridDim.x * blockDim.x;
}

__device__ inline uint64_t thread_number() {
  return (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
}

/* Returns the thread blocks for `count` elements: one thread for each element, up to a number of
 * blocks that fills any GPU. */
inline unsigned blocks_for(uint64_t count) {
  const uint64_t blocks = amped_ceil_div(count, (uint64_t)block_threads);
  return (unsigned)(blocks < 8192 ? blocks : 8192);
}

} // namespace

#endif
