/* Reorder: the nonzeros of a packed copy are put in the order of tiles (tiles_cuda.h) on the GPU.
 *
 * The sort by range is stable, so rows stay in order within a range. All pointers but range_nnz are
 * device memory. */
#ifndef AMPED_REORDER_CUDA_H
#define AMPED_REORDER_CUDA_H

#include "cuda/sorted/pack_cuda.h"
#include "cuda/sorted/tiles_cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

/* (*d_order)[k] = the number in the old order of nonzero k of the new order: of 32 bits where nnz
 * fits in 32 bits, else of 64. It lies in *d_block, which the caller frees, also after a failure.
 * range_nnz[i] = the nonzeros of range i. Waits. */
amped_status amped_reorder_cuda_sort(const amped_packed_cuda *copy, const amped_tiles_cuda *tiles,
                                     uint64_t *range_nnz, void **d_block, void **d_order,
                                     cudaStream_t stream);

/* Unpack nonzeros first .. first + count of the new order to the arrays of `batch`. Where d_order
 * is NULL they stay in the order of the copy, and first is 0: the copy begins with them. */
amped_status amped_reorder_cuda_unpack(const amped_packed_cuda *copy, const void *d_order,
                                       uint64_t first, uint64_t count, const amped_batch *batch,
                                       cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
