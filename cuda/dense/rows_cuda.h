/* Rows of an MTTKRP from a contraction's result T (contract_cuda.h):
 *
 *   W[i][r] = sum over the indices of T's other modes of T[..][r] times their factors' rows
 *
 * T has `order` modes, the first of which changes slowest, and ncomps elements for each index. T is
 * read once, with 16 bytes per access. Sums are in double. Their order depends on the sizes and on
 * the number of multiprocessors. Pointers are device memory. Nothing waits. */
#ifndef AMPED_ROWS_CUDA_H
#define AMPED_ROWS_CUDA_H

#include "cuda/device/device_cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct amped_rows_cuda_args {
  amped_vtype value_type;
  const void *t;
  int order;
  uint64_t dims[AMPED_MAX_ORDER];
  const void *factors[AMPED_MAX_ORDER]; /* dims[m] rows of ld elements; factors[target] is not
                                           read */
  int target;                           /* the mode of W */
  int ncomps;
  uint64_t ld;
  void *out;    /* dims[target] rows of ld elements; padding columns are not touched */
  double *sums; /* workspace of amped_rows_cuda_sums doubles; NULL if 0 */
  int multiprocessors;
  cudaStream_t stream;
} amped_rows_cuda_args;

uint64_t amped_rows_cuda_sums(const amped_rows_cuda_args *args);
/* Upper bound of amped_rows_cuda_sums for any mode of `rows` rows. */
uint64_t amped_rows_cuda_most_sums(uint64_t rows, int ncomps, int multiprocessors);

amped_status amped_rows_cuda(const amped_rows_cuda_args *args);

#ifdef __cplusplus
}
#endif

#endif
