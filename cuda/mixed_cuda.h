/* Sorted copies of some modes, and one copy in boxes for the others, on a GPU. Twin of
 * src/cpu/mixed_cpu.c. */
#ifndef AMPED_MIXED_CUDA_H
#define AMPED_MIXED_CUDA_H

#ifdef __cplusplus
extern "C" {
#endif

#include "backend/backend.h"

extern const amped_format_ops amped_mixed_cuda;

#ifdef __cplusplus
}
#endif

#endif
