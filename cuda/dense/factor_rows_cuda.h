/* Rows for a contraction: products of the rows of several factors, padded to the columns of its
 * tiles. And sums of rows that arrived from other ranks. Device memory; nothing waits. */
#ifndef AMPED_FACTOR_ROWS_CUDA_H
#define AMPED_FACTOR_ROWS_CUDA_H

#include "cuda/device/device_cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

#include "backend/backend.h"

typedef struct amped_factor_rows_cuda {
  amped_vtype value_type;
  int count;                            /* number of factors */
  uint64_t dims[AMPED_MAX_ORDER];       /* the index of the last factor changes fastest */
  const void *factors[AMPED_MAX_ORDER]; /* dims[i] rows of ld elements */
  int ncomps;
  uint64_t ld, columns; /* elements per row of a factor; of the result, with zeros from ncomps on */
} amped_factor_rows_cuda;

/* out = rows first .. end - 1 of the product, then zeros: `padded` rows in total. */
amped_status amped_factor_rows_cuda_make(const amped_factor_rows_cuda *f, uint64_t first,
                                         uint64_t end, uint64_t padded, void *out,
                                         cudaStream_t stream);

/* Add up blocks of mode's rows in parts->arriving (amped_row_sum), in their order and in double. */
amped_status amped_factor_rows_cuda_add(const amped_plan *plan, int mode, amped_row_sum sum,
                                        const amped_partial_rows *parts, void *output,
                                        cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
