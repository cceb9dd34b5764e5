/* Single nonzeros in row fits on a GPU: holding some out, weights, and sums over nonzeros. These
 * are operations of amped_row_fit_ops (backend/row_fit.h). Plain nonzeros come in batches
 * (amped_copies_cuda_visit). */
#ifndef AMPED_HELD_OUT_CUDA_H
#define AMPED_HELD_OUT_CUDA_H

#include "cuda/load/tensor_part_cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

/* File indices by position, mode after mode, in plan->index_type. find puts them, or their keys
 * (backend/row_fit.h; keys NULL: none), into device memory; indices may be there already. free
 * frees them. bytes: their size. */
uint64_t amped_file_indices_cuda_bytes(const amped_plan *plan);
amped_status amped_file_indices_cuda_find(amped_tensor_part *part, const uint32_t *const *keys);
void amped_file_indices_cuda_free(amped_tensor_part *part);

/* amped_held_out_cuda frees the file indices, including indices that amped_weigh_cuda left
 * there. */

amped_status amped_held_out_cuda(amped_tensor_part *part, const uint32_t *const *keys,
                                 uint64_t seed, uint64_t below, uint64_t *held);
amped_status amped_moments_cuda(amped_tensor_part *part, amped_moments *out);
amped_status amped_errors_cuda(amped_tensor_part *part, int mode, bool held,
                               const amped_row_fit *fit, double least, double most,
                               amped_errors *out);

/* weigh and view of amped_row_fit_ops. amped_weigh_cuda_bytes: device memory that weigh takes while
 * it runs. */
uint64_t amped_weigh_cuda_bytes(const amped_plan *plan);
amped_status amped_weigh_cuda(amped_tensor_part *part, uint64_t count,
                              const uint64_t *const *indices, const double *weights,
                              uint64_t *placed);
amped_status amped_view_cuda(amped_tensor_part *part, uint64_t first, uint64_t count,
                             uint64_t *const *positions, bool *held, double *weights,
                             double *values);

#ifdef __cplusplus
}
#endif

#endif
