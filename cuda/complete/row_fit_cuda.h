/* Row fits on a GPU: twin of src/cpu/row_fit_cpu.h, over the packed copies.
 *
 * Rows of up to a piece's length are fitted by a warp, or by a thread block where warps cannot
 * (row_kernels_cuda.h). Pieces of longer rows, and of rows that other ranks share, leave their sums
 * in slots; when all are there, thread blocks add them up in their order, in double, and solve. */
#ifndef AMPED_ROW_FIT_CUDA_H
#define AMPED_ROW_FIT_CUDA_H

#include "cuda/complete/row_state_cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const amped_row_fit_ops amped_row_fit_cuda_ops;

void amped_row_fit_cuda_free(amped_row_fit_cuda *f); /* NULL is allowed */

#ifdef __cplusplus
}
#endif

#endif
