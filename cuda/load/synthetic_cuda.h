/* Synthetic tensors on the GPU, for amped_format_ops. Twin of src/cpu/load/synthetic_cpu.h.
 *
 * Plain C for the host; every function waits for its work. */
#ifndef AMPED_SYNTHETIC_CUDA_H
#define AMPED_SYNTHETIC_CUDA_H

#include "cuda/device/rank_device_cuda.h"
#include "cuda/sorted/copies_cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

amped_status amped_synthetic_cuda_count(const amped_synthetic *t, int mode, uint64_t width,
                                        uint64_t first, uint64_t count, uint64_t *idp_nnz,
                                        double *sum_of_squares, cudaStream_t stream);

/* Append the shard of plan->rank in mode's copy to copies. During the call this uses half of the
 * free device memory, within the user's limit, but at least the memory for a piece of 65536
 * nonzeros. Ranks on the same GPU divide the half evenly. The buffers for streaming are lent for
 * the call. The amount of memory changes the time, not the result. */
amped_status amped_synthetic_cuda_load(const amped_synthetic *t, const amped_device *device,
                                       const amped_plan *plan, int mode, amped_copies_cuda *copies);

#ifdef __cplusplus
}
#endif

#endif
