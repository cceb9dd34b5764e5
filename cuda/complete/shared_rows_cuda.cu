/* Copying numbers of shared rows from a GPU to host memory. */
#include "cuda/complete/shared_rows_cuda.h"

#include <cstring>

extern "C" {
#include "base/sort.h"
}

amped_status amped_shared_rows_cuda_get(const amped_shared_rows_cuda *r, uint64_t first,
                                        uint64_t count, void *to, cudaStream_t stream) {
  if (count == 0)
    return AMPED_OK;
  memset(to, 0, count * r->bytes);
  for (uint64_t i = amped_sort_find(r->listed, r->count, first); i < r->count;) {
    const uint64_t here = r->listed[i];
    uint64_t rows = 1; /* consecutive rows, which are copied together */
    if (here >= first + count)
      break;
    while (i + rows < r->count && r->listed[i + rows] == here + rows && here + rows < first + count)
      rows++;
    AMPED_CUDA(cudaMemcpyAsync(static_cast<char *>(to) + (here - first) * r->bytes,
                               static_cast<const char *>(r->d_numbers) + i * r->bytes,
                               rows * r->bytes, cudaMemcpyDeviceToHost, stream));
    i += rows;
  }
  AMPED_CUDA(cudaStreamSynchronize(stream));
  return AMPED_OK;
}
