/* Kernels of contractions, by type of sums: float and double.
 *
 * They make columns `column` .. column + n - 1 of T. n: the tile width that contract_cuda.cu
 * chooses. The k are divided into at most `parts` parts. Work is enqueued; nothing waits. */
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

/* Parts of amped_contract_f32, in files of their own because nvcc takes long: cells of 1 and 2
 * bytes; double cells, and integers of 4 and 8 bytes. */
amped_status amped_contract_words(const amped_contract_cuda_args *args, uint64_t parts, int column,
                                  int n);
amped_status amped_contract_long_words(const amped_contract_cuda_args *args, uint64_t parts,
                                       int column, int n);

/* amped_contract_f32 with instructions of warp groups (wgmma). Requires float cells, the device's
 * caches.groups, and n of 32, 64 or 128. */
amped_status amped_contract_group(const amped_contract_cuda_args *args, uint64_t parts, int column,
                                  int n);

#ifdef __cplusplus
}
#endif

#endif
