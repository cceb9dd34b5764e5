/* Row pass: new rows of a factor, and the sums over them, in one pass over memory.
 *
 * For rows of at most 256 bytes. Products and sums are computed in double, on tensor cores if the
 * device has them for doubles. The order of additions depends only on the sizes. Pointers d_ are
 * device memory. Nothing waits for the device. */
#ifndef AMPED_ROW_PASS_CUDA_H
#define AMPED_ROW_PASS_CUDA_H

#include "cuda/device/device_cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Rows have ld elements of `type`, padding zero. Each of `blocks` thread blocks writes its sums to
 * d_partials: ncomps x ncomps doubles, of which the upper triangle counts, and one more.
 * amped_row_pass_add_partials adds them up. */
typedef struct amped_row_pass {
  amped_vtype type;
  uint64_t rows;
  uint64_t ld;
  uint64_t stride; /* 0; or rows are ncomps columns, at any address, of rows of `stride` elements */
  int ncomps;
  const void *d_from;     /* rows of the MTTKRP result; NULL: the factor's rows do not change */
  const double *d_square; /* ncomps x ncomps: new rows = rows of from times this */
  const double *d_keep;   /* ncomps x ncomps: old rows times this are added; NULL: not added */
  void *d_to;             /* rows of the factor */
  int blocks;
  double *d_partials;
} amped_row_pass;

bool amped_row_pass_is_short(const amped_plan *plan);
amped_status amped_row_pass_run(const amped_row_pass *pass, cudaStream_t stream);

/* Add up `count` partial results. d_sums = the gram, mirrored from the upper triangle so that it is
 * exactly symmetric; then the inner product, one element after each partial matrix. */
amped_status amped_row_pass_add_partials(const double *d_partials, int count, int ncomps,
                                         double *d_sums, cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
