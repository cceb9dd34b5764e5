/* Row descent on a GPU: the rule of backend/row_descent.h.
 *
 * A lane, or a group of lanes above 32 components, holds a row and w - a V, in double in registers.
 * V is in shared memory up to 128 components, and is read through the caches above. Pointers d_ are
 * device memory. Nothing waits for the device. */
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
  bool only_cut;        /* nonnegative is true, d_shrink is all zeros, and V's diagonal is above
                           0 */
  const void *d_output; /* rows of the MTTKRP result */
  const double *d_v;    /* [ncomps][ncomps] */
  const double *d_scale, *d_shrink;
  void *d_rows; /* rows of the factor */
} amped_row_descent_cuda;

amped_status amped_row_descent_cuda_run(const amped_row_descent_cuda *descent, cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
