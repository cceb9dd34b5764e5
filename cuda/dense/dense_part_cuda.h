/* A slab of a dense tensor in device memory: twin of src/cpu/dense_cpu.c.
 *
 * The slab stays as it came, in its file's type and order. T, the last contraction (dense_plan.h),
 * is kept with the versions of the factors in it. All of it is resident: what does not fit is
 * refused with its size. */
#ifndef AMPED_DENSE_PART_CUDA_H
#define AMPED_DENSE_PART_CUDA_H

#ifdef __cplusplus
extern "C" {
#endif

#include "backend/backend.h"

extern const amped_format_ops amped_dense_format_cuda;

#ifdef __cplusplus
}
#endif

#endif
