/* Single nonzeros in row fits on a GPU: which are held out, their weights, sums over them.
 * Operations of amped_row_fit_ops (backend/row_fit.h). Plain nonzeros come in batches, as for
 * products. */
#ifndef AMPED_HELD_OUT_CUDA_H
#define AMPED_HELD_OUT_CUDA_H

#include "cuda/load/tensor_part_cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

/* File indices by position, of plan->index_type, mode after mode: in device memory until they are
 * freed. find does nothing where they are there. */
uint64_t amped_file_indices_cuda_bytes(const amped_plan *plan);
amped_status amped_file_indices_cuda_find(amped_tensor_part *part);
void amped_file_indices_cuda_free(amped_tensor_part *part);

/* They free the indices. */

amped_status amped_held_out_cuda(amped_tensor_part *part, uint64_t seed, uint64_t below,
                                 uint64_t *held);
amped_status amped_moments_cuda(amped_tensor_part *part, amped_moments *out);
amped_status amped_errors_cuda(amped_tensor_part *part, int mode, bool held,
                               const amped_row_fit *fit, double least, double most,
                               amped_errors *out);

/* amped_row_fit_ops' weigh and view. Device bytes that weigh takes for a while. */
uint64_t amped_weigh_cuda_bytes(const amped_plan *plan);
amped_status amped_weigh_cuda(amped_tensor_part *part, uint64_t count,
                              const uint64_t *const *indices, const double *weights,
                              uint64_t *placed);
amped_status amped_view_cuda(amped_tensor_part *part, uint64_t first, uint64_t count,
                             uint64_t *const *positions, bool *held, double *weights);

#ifdef __cplusplus
}
#endif

#endif
