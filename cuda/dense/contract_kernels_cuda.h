/* The two instantiations of the contraction's kernel: of sums in float and in double.
 *
 * Columns `column` .. column + n of T. n is amped_contract_cuda_tile's; the k are divided into at
 * most `parts` parts. Enqueued; nothing waits. */
#ifndef AMPED_CONTRACT_KERNELS_CUDA_H
#define AMPED_CONTRACT_KERNELS_CUDA_H

#include "cuda/dense/contract_cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

amped_status amped_contract_f32(const amped_contract_cuda_args *args, uint64_t parts, int column,
                                int n);
amped_status amped_contract_f64(const amped_contract_cuda_args *args, uint64_t parts, int column,
                                int n);

/* The first one, by products of warp groups: cells are floats, the device's caches.groups is true,
 * n is 32, 64 or 128. */
amped_status amped_contract_group(const amped_contract_cuda_args *args, uint64_t parts, int column,
                                  int n);

#ifdef __cplusplus
}
#endif

#endif
