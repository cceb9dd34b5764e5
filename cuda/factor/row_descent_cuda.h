/* Row descent on a GPU: the rule of backend/row_descent.h.
 *
 * A group of lanes has a row: what it is, and w - a V, in double in registers. V is in shared
 * memory up to 128 components, and comes from the caches above. Pointers d_ are device memory.
 * Nothing waits for the device. */
#ifndef AMPED_ROW_DESCENT_CUDA_H
#define AMPED_ROW_DESCENT_CUDA_H

#include "cuda/device/device_cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct amped_row_descent_cuda {
  amped_vtype type;
  uint64_t rows;
  uint64_t ld; /* elements from one row to the next */
  int ncomps;
  bool nonnegative;
  const void *d_output; /* rows of the MTTKRP result */
  const double *d_v;    /* [ncomps][ncomps] */
  const double *d_scale, *d_shrink;
  void *d_rows; /* of the factor */
} amped_row_descent_cuda;

amped_status amped_row_descent_cuda_run(const amped_row_descent_cuda *descent, cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
