/* Columns of factor rows: copies between rows of a factor set and rows of their own. */
#ifndef AMPED_COLUMNS_CUDA_H
#define AMPED_COLUMNS_CUDA_H

#include "cuda/device/rank_device_cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Copy `columns` columns of `rows` rows, from and to device memory. ld: elements from row to row.
 * The columns after them, up to to_columns, become zero. Does not wait. */
amped_status amped_columns_cuda_copy(amped_vtype type, uint64_t rows, int columns,
                                     const void *d_from, uint64_t from_ld, void *d_to,
                                     uint64_t to_ld, int to_columns, cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
