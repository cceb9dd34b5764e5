/* Reorder: the nonzeros of a packed copy by tiles of an input mode (tiles_cuda.h), on the GPU.
 *
 * A stable sort by range: rows stay in order within one. All pointers but range_nnz are device
 * memory. */
#ifndef AMPED_REORDER_CUDA_H
#define AMPED_REORDER_CUDA_H

#include "cuda/sorted/pack_cuda.h"
#include "cuda/sorted/tiles_cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Where nonzero k of the new order lies in the old one: *d_order, numbers of 32 bits where nnz is
 * one of those, else of 64. It lies in *d_block, which the caller frees, also after a failure.
 * range_nnz[i] nonzeros are of range i. Waits. */
amped_status amped_reorder_cuda_sort(const amped_packed_cuda *copy, const amped_tiles_cuda *tiles,
                                     uint64_t *range_nnz, void **d_block, void **d_order,
                                     cudaStream_t stream);

/* Nonzeros first .. first+count of the new order, unpacked to `run`'s arrays of count elements. */
amped_status amped_reorder_cuda_unpack(const amped_packed_cuda *copy, const void *d_order,
                                       uint64_t first, uint64_t count, const amped_batch *batch,
                                       cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
