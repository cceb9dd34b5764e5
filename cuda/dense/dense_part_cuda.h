/* A rank's slab of a dense tensor on a GPU. Twin of src/cpu/dense/dense_part_cpu.c.
 *
 * Cells keep their file's type and order. T, the last contraction (dense_plan.h), is kept with the
 * versions of the factors in it. The slab is resident, or some of its rows are streamed from pinned
 * host memory (slab_layout_cuda.h). If it cannot fit, it is refused with its size. */
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
