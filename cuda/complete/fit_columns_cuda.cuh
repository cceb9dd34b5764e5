/* Columns of rows and tiles of matrices as warps hold them, and addresses of rows. */
#ifndef AMPED_FIT_COLUMNS_CUDA_CUH
#define AMPED_FIT_COLUMNS_CUDA_CUH

#include "cuda/complete/fit_problem_cuda.cuh"
#include "cuda/device/ptx_cuda.cuh"

namespace {

/* Factor column of the c-th number that lane g of the eight lanes of a row holds. */
template <int W> __device__ inline unsigned column_of(int c, unsigned g) {
  return W == 16 ? 2 * g + (unsigned)c : (unsigned)c / 4 * 32 + 4 * g + (unsigned)c % 4;
}
/* Column of coordinate i (row_warps_cuda.cuh). */
template <int W> __device__ inline unsigned column_at(unsigned i) {
  return column_of<W>((int)(i / 8), i % 8);
}

/* Number of the tile at row 16 m and column 8 n, among the tiles on and below the diagonal. */
__device__ constexpr int tile_at(int m, int n) {
  return m * (m + 1) + n;
}

/* Address of row `row` of a factor whose rows are ld floats. */
__device__ inline const float *row_at(const float *factor, index32 row, unsigned ld) {
  return row_address(factor, row, ld * (unsigned)sizeof(float));
}

/* Start of a lane's share of a row of ld floats: W / 8 floats in one or two runs. Runs after the
 * row's end are moved to its last floats, which are read and not used. */
struct lane_share {
  unsigned first, second;
};
template <int W> __device__ inline lane_share share_of(unsigned g, unsigned ld) {
  constexpr unsigned run = W == 16 ? 2 : 4;
  const unsigned first = run * g < ld ? run * g : ld - run;
  return {first, W == 64 && 32 + run * g < ld ? 32 + run * g : ld - run};
}

/* Load a lane's share of a factor's row, W / 8 floats. from: first float of the share. */
template <int W>
__device__ inline void gather(const float *from, const lane_share &share, float *out) {
  if constexpr (W == 16) {
    const float2 v = __ldg(reinterpret_cast<const float2 *>(from));
    out[0] = v.x;
    out[1] = v.y;
  } else {
#pragma unroll
    for (int q = 0; q < W / 32; q++) {
      const float4 v =
          __ldg(reinterpret_cast<const float4 *>(from + (q > 0 ? share.second - share.first : 0U)));
      out[4 * q] = v.x;
      out[4 * q + 1] = v.y;
      out[4 * q + 2] = v.z;
      out[4 * q + 3] = v.w;
    }
  }
}

} // namespace

#endif
