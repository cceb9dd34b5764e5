/* Shared rows: rows of the MTTKRP result that several ranks have nonzeros of, on their way to the
 * host. A GPU keeps numbers of those alone that have nonzeros here. */
#ifndef AMPED_SHARED_ROWS_CUDA_H
#define AMPED_SHARED_ROWS_CUDA_H

#include "cuda/device/device_cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct amped_shared_rows_cuda {
  const uint64_t *listed; /* [count] host: those with nonzeros here, ascending */
  uint64_t count;
  const void *d_numbers; /* [count] of so many bytes each */
  uint64_t bytes;
} amped_shared_rows_cuda;

/* to = the numbers of rows first .. first + count, in host memory; zeros of those that are not
 * listed. Waits. */
amped_status amped_shared_rows_cuda_get(const amped_shared_rows_cuda *rows, uint64_t first,
                                        uint64_t count, void *to, cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
