/* Shared rows: rows of the MTTKRP result of which several ranks have nonzeros, on their way to the
 * host. A GPU keeps numbers only for the rows that have nonzeros on this rank. */
#ifndef AMPED_SHARED_ROWS_CUDA_H
#define AMPED_SHARED_ROWS_CUDA_H

#include "cuda/device/device_cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct amped_shared_rows_cuda {
  const uint64_t *listed; /* [count] host: rows with nonzeros here, ascending */
  uint64_t count;
  const void *d_numbers; /* [count] `bytes` each */
  uint64_t bytes;
} amped_shared_rows_cuda;

/* Copy the contents of rows first .. first + count to `to`, in host memory; zeros for rows that are
 * not listed. Waits for the stream. */
amped_status amped_shared_rows_cuda_get(const amped_shared_rows_cuda *rows, uint64_t first,
                                        uint64_t count, void *to, cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
