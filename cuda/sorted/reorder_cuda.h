/* Reorder: sort the nonzeros of a packed copy by tiles (tiles_cuda.h) on the GPU.
 *
 * The sort by range is stable, so rows stay in order within a range. All pointers except range_nnz
 * are device memory. */
#ifndef AMPED_REORDER_CUDA_H
#define AMPED_REORDER_CUDA_H

#include "cuda/sorted/pack_cuda.h"
#include "cuda/sorted/tiles_cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

/* (*d_order)[k] = old number of nonzero k of the new order. Numbers have 32 bits if nnz fits, else
 * 64. The array lies in *d_block, which the caller frees, also after a failure. range_nnz[i] =
 * number of nonzeros of range i. Waits. */
amped_status amped_reorder_cuda_sort(const amped_packed_cuda *copy, const amped_tiles_cuda *tiles,
                                     uint64_t *range_nnz, void **d_block, void **d_order,
                                     cudaStream_t stream);

/* Unpack nonzeros first .. first + count - 1 of the new order to the arrays of `batch`. d_order
 * NULL: keep the order of the copy; first is 0, and the copy's part begins with these nonzeros. */
amped_status amped_reorder_cuda_unpack(const amped_packed_cuda *copy, const void *d_order,
                                       uint64_t first, uint64_t count, const amped_batch *batch,
                                       cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
