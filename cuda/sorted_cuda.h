/* The sorted copies on a GPU as tensor formats. Twin of src/cpu/sorted_cpu.c. amped_atomic_cuda
 * keeps the same copies unpacked, for the atomic kernel (AMPED, Algorithm 2). */
#ifndef AMPED_SORTED_CUDA_H
#define AMPED_SORTED_CUDA_H

#ifdef __cplusplus
extern "C" {
#endif

#include "backend/backend.h"

extern const amped_format_ops amped_sorted_cuda;
extern const amped_format_ops amped_atomic_cuda;

#ifdef __cplusplus
}
#endif

#endif
