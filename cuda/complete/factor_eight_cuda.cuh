/* Cholesky of eight columns: a block of 8 x 8 numbers in a thread's registers, and rows below it.
 */
#ifndef AMPED_FACTOR_EIGHT_CUDA_CUH
#define AMPED_FACTOR_EIGHT_CUDA_CUH

#include "cuda/device/ptx_cuda.cuh"

namespace {

__device__ inline void load_eight(const float *from, float *to) {
#pragma unroll
  for (int i = 0; i < 2; i++) {
    const float4 v = reinterpret_cast<const float4 *>(from)[i];
    to[4 * i] = v.x;
    to[4 * i + 1] = v.y;
    to[4 * i + 2] = v.z;
    to[4 * i + 3] = v.w;
  }
}
__device__ inline void store_eight(const float *from, float *to) {
#pragma unroll
  for (int i = 0; i < 2; i++)
    reinterpret_cast<float4 *>(to)[i] =
        make_float4(from[4 * i], from[4 * i + 1], from[4 * i + 2], from[4 * i + 3]);
}

/* Factor the lower triangle of 8 x 8 numbers in place; the factor's diagonal is by^-1. */
__device__ inline void factor_eight(float (*l)[8], float *by) {
#pragma unroll
  for (int j = 0; j < 8; j++) {
    by[j] = reciprocal_root(l[j][j]);
#pragma unroll
    for (int i = j + 1; i < 8; i++)
      l[i][j] *= by[j];
#pragma unroll
    for (int c = j + 1; c < 8; c++)
#pragma unroll
      for (int i = c; i < 8; i++)
        l[i][c] = fmaf(-l[i][j], l[c][j], l[i][c]);
  }
}

/* Turn a row v of the matrix into a row of the factor, in place. */
__device__ inline void factor_row(float *v, const float (*l)[8], const float *by) {
#pragma unroll
  for (int j = 0; j < 8; j++) {
    v[j] *= by[j];
#pragma unroll
    for (int c = j + 1; c < 8; c++)
      v[c] = fmaf(-v[j], l[c][j], v[c]);
  }
}

} // namespace

#endif
