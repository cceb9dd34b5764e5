/* Columns of rows and tiles of matrices as warps hold them, and where rows lie. */
#ifndef AMPED_FIT_COLUMNS_CUDA_CUH
#define AMPED_FIT_COLUMNS_CUDA_CUH

#include "cuda/complete/fit_problem_cuda.cuh"
#include "cuda/device/ptx_cuda.cuh"

namespace {

/* The column of a lane's component c. */
template <int W> __device__ inline unsigned column_of(int c, unsigned g) {
  return W == 16 ? 2 * g + (unsigned)c : (unsigned)c / 4 * 32 + 4 * g + (unsigned)c % 4;
}
/* The column of coordinate i. */
template <int W> __device__ inline unsigned column_at(unsigned i) {
  return column_of<W>((int)(i / 8), i % 8);
}

/* Of the tiles on and below a matrix' diagonal, that of rows 16 m and columns 8 n on. */
__device__ constexpr int tile_at(int m, int n) {
  return m * (m + 1) + n;
}

/* Row `row` of a factor whose rows are ld floats. */
__device__ inline const float *row_at(const float *factor, index32 row, unsigned ld) {
  return row_address(factor, row, ld * (unsigned)sizeof(float));
}
__device__ inline const float *row_at(const float *factor, index64 row, unsigned ld) {
  return factor + row * ld;
}

} // namespace

#endif
