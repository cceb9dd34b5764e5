/* Ratios over packed copies on a GPU: the table of operations of backend/ratio.h. Twin of
 * src/cpu/counts/ratio_cpu.h. The kernel is the sorted one (mttkrp_sorted.cuh). */
#ifndef AMPED_RATIO_CUDA_H
#define AMPED_RATIO_CUDA_H

#include "cuda/load/tensor_part_cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const amped_ratio_ops amped_ratio_cuda_ops;

void amped_ratio_cuda_free(amped_ratio_cuda *ratio); /* NULL is allowed */

#ifdef __cplusplus
}
#endif

#endif
