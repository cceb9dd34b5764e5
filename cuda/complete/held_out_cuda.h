/* Nonzeros that are held out of row fits, and sums over single nonzeros, on a GPU: operations of
 * amped_row_fit_ops (backend/row_fit.h). Plain nonzeros come in batches, as for products. */
#ifndef AMPED_HELD_OUT_CUDA_H
#define AMPED_HELD_OUT_CUDA_H

#include "cuda/load/tensor_part_cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Device bytes that hold_out takes for a while. */
uint64_t amped_held_out_cuda_bytes(const amped_plan *plan);

amped_status amped_held_out_cuda(amped_tensor_part *part, uint64_t seed, uint64_t below,
                                 uint64_t *held);
amped_status amped_moments_cuda(amped_tensor_part *part, amped_moments *out);
amped_status amped_errors_cuda(amped_tensor_part *part, int mode, bool held,
                               const amped_row_fit *fit, double least, double most,
                               amped_errors *out);

#ifdef __cplusplus
}
#endif

#endif
