/* Staged: large arrays in plain host memory go to the device, and come from it, through pinned
 * memory, which all OpenMP threads copy to. CUDA's own way has one thread: 7 to 10 GB/s.
 *
 * Both are done when the caller has waited for the stream, behind all that was enqueued on it;
 * until then the host memory stays as it is. Few bytes, and pinned ones, take CUDA's own way. So do
 * all where no keeper of memory is there (device_cuda.h): to pin memory for one call takes longer
 * than that saves. */
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
