/* Row fits on a GPU, over the packed copies: the twin of src/cpu/complete/row_fit_cpu.h.
 *
 * A warp fits each row of up to a piece's length. If warps cannot, a thread block does
 * (row_kernels_cuda.h). Pieces of longer rows, and of rows that other ranks share, leave their sums
 * in slots. When a row's slots are complete, thread blocks add them up in order, in double, and
 * solve. */
#ifndef AMPED_ROW_FIT_CUDA_H
#define AMPED_ROW_FIT_CUDA_H

#include "cuda/complete/row_kernels_cuda.h"
#include "cuda/complete/row_state_cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const amped_row_fit_ops amped_row_fit_cuda_ops;

/* Functions that row fits and block fits share: the operations of both tables, with the arguments
 * of kernels. amped_row_fit_cuda_args returns the arguments of the current row fit. */
amped_row_kernel_cuda_args amped_row_fit_cuda_args(const amped_tensor_part *part, int mode);

/* Hook before the kernels of a run. It may change what they read, or do all of their work
 * (*done). */
typedef struct amped_run_hook_cuda {
  amped_status (*run)(void *self, amped_row_kernel_cuda_args *args, amped_packed_cuda *packed,
                      bool *done);
  bool has_strip_sums; /* args->sums has one entry per strip, which run fills */
  void *self;
} amped_run_hook_cuda;

amped_status amped_row_fit_cuda_begin(amped_tensor_part *part, int mode,
                                      const amped_row_kernel_cuda_args *args,
                                      const amped_run_hook_cuda *hook);
amped_status amped_row_fit_cuda_wait(amped_tensor_part *part, int mode, int block_part,
                                     amped_mttkrp_times *times, amped_row_fit_sums *sums);
amped_status amped_row_fit_cuda_get(amped_tensor_part *part, int mode,
                                    const amped_row_kernel_cuda_args *args, uint64_t row,
                                    uint64_t count, double *equations);
amped_status amped_row_fit_cuda_put(amped_tensor_part *part, const amped_row_kernel_cuda_args *args,
                                    uint64_t row, uint64_t count, const double *equations);
amped_status amped_row_fit_cuda_solve_shared(amped_tensor_part *part, int mode,
                                             amped_row_fit_sums *sums);

void amped_row_fit_cuda_free(amped_row_fit_cuda *f); /* NULL is allowed */

#ifdef __cplusplus
}
#endif

#endif
