/* Block fits on a GPU: the twin of src/cpu/complete/block_fit_cpu.h. They use the pieces of row
 * fits (row_fit_cuda.h). All targets stay on the device, including the targets of streamed
 * nonzeros. */
#ifndef AMPED_BLOCK_FIT_CUDA_H
#define AMPED_BLOCK_FIT_CUDA_H

#include "cuda/complete/row_fit_cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const amped_block_fit_ops amped_block_fit_cuda_ops;

#ifdef __cplusplus
}
#endif

#endif
