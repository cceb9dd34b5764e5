/* Staged copies: large arrays in plain host memory go to the device, and come from it, through
 * pinned buffers, which all OpenMP threads fill or empty. CUDA's own copy uses one thread: 7 to 10
 * GB/s.
 *
 * Both functions are complete when the caller has waited for the stream, after everything enqueued
 * before. Until then the host memory must not change. Short arrays, and pinned ones, use CUDA's own
 * copy. So do all arrays if no memory is cached (amped_cuda_keep_memory in device_cuda.h): pinning
 * memory for one call takes longer than it saves. */
#ifndef AMPED_STAGED_CUDA_H
#define AMPED_STAGED_CUDA_H

#include "cuda/device/device_cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

amped_status amped_staged_cuda_put(void *d_to, const void *from, uint64_t bytes,
                                   cudaStream_t stream);
amped_status amped_staged_cuda_get(void *to, const void *d_from, uint64_t bytes,
                                   cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
