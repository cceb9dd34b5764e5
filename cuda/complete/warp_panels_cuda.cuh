/* Solving a row's equations of W = 16, 32 or 64 unknowns, and perhaps a bias, by one warp in float.
 *
 * Cholesky of a matrix H in the accumulators of the tensor cores, by panels of eight columns. A
 * panel goes to shared memory. Each lane has a row of it or, of 64, two. It becomes the factor's
 * there, four columns at a time: all lanes factor the block of four on the diagonal, and each
 * divides its rows by the factor. Then the products of the panel are subtracted from the
 * accumulators, as products of nonzeros are added. The right side and, with a bias, the sums of p
 * are two extra rows, of lanes 0 and 1. The bias is the last row of the factor. */
#ifndef AMPED_WARP_PANELS_CUDA_CUH
#define AMPED_WARP_PANELS_CUDA_CUH

#include <cfloat>

#include "cuda/complete/fit_problem_cuda.cuh"
#include "cuda/complete/warp_products_cuda.cuh"
#include "cuda/complete/warp_solve_cuda.cuh"

namespace {

/* The factor, in panels of eight columns. A line has a row of the lower half of the triangle, and
 * after it one of the upper half: W + 8 columns together. Last lines: the extra rows.
 * factors: as in solve_workspace. */
template <int W> struct panel_workspace {
  float lines[W / 2 + 2][W + 8];
  float factors[W / 4][12];
  float x[W]; /* H's diagonal; then the solution */

  static constexpr int stride = W + 8;
  /* Start of row 8 `eight` + g. Lanes also read after its stored columns: such reads stay in
   * `lines`, and their values are not used. */
  __device__ __forceinline__ float *row_of(unsigned eight, unsigned g) {
    return eight < W / 16 ? lines[8 * eight + g] + W - 8 * eight : lines[W - 8 - 8 * eight + g];
  }
  __device__ __forceinline__ float *row(unsigned r) {
    return row_of(r / 8, r % 8);
  }
  /* Extra row i: the right side, or the sums of p. */
  __device__ __forceinline__ float *extra(unsigned i) {
    return lines[W / 2 + i];
  }
};

/* Has the lane the row r = lane? */
template <int W> __device__ inline bool has_row(unsigned lane) {
  return W >= 32 || lane < (unsigned)W;
}

/* Add `weight` to H's diagonal; 1 after the components. Puts the right side and the sums into the
 * workspace. right, sums: by component c, the same in all lanes of one g. */
template <int W>
__device__ inline void begin_equations(panel_workspace<W> *workspace, float (*h)[4], float weight,
                                       unsigned components, const float *right, const float *sums,
                                       bool biased, unsigned lane) {
  const unsigned g = lane / 4;
  const unsigned t = lane % 4;
  __syncwarp();
#pragma unroll
  for (int c = 0; c < W / 8; c++) {
    if (t < 2)
      workspace->extra(t)[8U * (unsigned)c + g] = t == 0 ? right[c] : biased ? sums[c] : 0.0F;
    if (t == g / 2) {
      float *const two = h[tile_at(c / 2, c)] + 2 * (c % 2);
      const float more = column_of<W>(c, g) < components ? weight : 1.0F;
      two[0] += g % 2 == 0 ? more : 0.0F;
      two[1] += g % 2 == 0 ? 0.0F : more;
      workspace->x[8U * (unsigned)c + g] = g % 2 == 0 ? two[0] : two[1];
    }
  }
  __syncwarp();
}

/* Put panel p of H into the workspace. */
template <int W>
__device__ inline void show_panel(panel_workspace<W> *workspace, const float (*h)[4], unsigned p,
                                  unsigned lane) {
  const unsigned g = lane / 4;
  const unsigned t = lane % 4;
#pragma unroll
  for (int n = 0; n < W / 8; n++)
    if (p == (unsigned)n)
#pragma unroll
      for (int m = n / 2; m < W / 16; m++)
#pragma unroll
        for (int i = 0; i < 2; i++)
          if (!is_above(m, n, 2 * i))
            *reinterpret_cast<float2 *>(workspace->row_of(2U * m + i, g) + 8U * n + 2 * t) =
                make_float2(h[tile_at(m, n)][2 * i], h[tile_at(m, n)][2 * i + 1]);
}

/* Factor H. The extra rows become solutions. H is lost. Rows 0 and 1 are not divided: nothing reads
 * them. */
template <int W, bool biased>
__device__ inline void factor_by_panels(panel_workspace<W> *workspace, float (*h)[4],
                                        unsigned lane) {
  constexpr int rows = rows_of_lane<W>;
  constexpr int stride = panel_workspace<W>::stride;
  constexpr unsigned extras = biased ? 2 : 1;
  const unsigned g = lane / 4;
  const unsigned t = lane % 4;
  float rest[extras][rows]; /* the lane's elements of the extra rows */
#pragma unroll
  for (unsigned i = 0; i < extras; i++)
#pragma unroll
    for (int s = 0; s < rows; s++)
      rest[i][s] = has_row<W>(lane) ? workspace->extra(i)[32 * s + lane] : 0.0F;
#pragma unroll 1
  for (unsigned p = 0; p < W / 8; p++) {
    show_panel<W>(workspace, h, p, lane);
    if (lane / 8 == p % 4)
#pragma unroll
      for (unsigned i = 0; i < extras; i++)
        workspace->extra(i)[8 * p + lane % 8] = p < 4 ? rest[i][0] : rest[i][rows - 1];
    __syncwarp();
    float *const block = workspace->row_of(p, 0) + 8 * p;
    float *own[rows];
    bool takes_part[rows]; /* rows that are not done; lanes 0 and 1 have the extra rows */
    float v[rows][8];
#pragma unroll
    for (int s = 0; s < rows; s++) {
      const unsigned r = 32U * (unsigned)s + lane;
      const bool is_extra = s == 0 && lane < extras;
      own[s] = (is_extra ? workspace->extra(lane) : workspace->row(r % W)) + 8 * p;
      takes_part[s] = is_extra || (has_row<W>(lane) && r >= 8 * p);
      read4(own[s], v[s]);
      read4(own[s] + 4, v[s] + 4);
    }
#pragma unroll
    for (int half = 0; half < 2; half++) {
      float *const four = block + half * 4 * (stride + 1);
      if (half > 0) {
#pragma unroll
        for (int j = 0; j < 4; j++) {
          float other[4];
          read4(four - 4 + stride * j, other);
#pragma unroll
          for (int s = 0; s < rows; s++)
            v[s][4 + j] = minus_products(v[s][4 + j], v[s], other);
        }
#pragma unroll
        for (int s = 0; s < rows; s++)
          if (takes_part[s])
            write4(own[s] + 4, v[s][4], v[s][5], v[s][6], v[s][7]);
        __syncwarp();
      }
      const factor4 f = factor_of(four, stride);
      __syncwarp();
      if (lane == 0)
        store_factor(f, workspace->factors[2 * p + (unsigned)half]);
#pragma unroll
      for (int s = 0; s < rows; s++) {
        float *const of_four = v[s] + 4 * half;
        divide(f, of_four);
        if (takes_part[s])
          write4(own[s] + 4 * half, of_four[0], of_four[1], of_four[2], of_four[3]);
      }
      __syncwarp();
    }
    if (p == W / 8 - 1)
      break;
#pragma unroll
    for (unsigned i = 0; i < extras; i++) {
      float y[8];
      read4(workspace->extra(i) + 8 * p, y);
      read4(workspace->extra(i) + 8 * p + 4, y + 4);
#pragma unroll
      for (int s = 0; s < rows; s++)
#pragma unroll
        for (int j = 0; j < 8; j++)
          rest[i][s] = fmaf(-v[s][j], y[j], rest[i][s]);
    }
    float products[2][W / 8];
#pragma unroll
    for (unsigned c = 0; c < W / 8; c++) {
      const float2 two = *reinterpret_cast<const float2 *>(workspace->row_of(c, g) + 8 * p + 2 * t);
      products[0][c] = two.x;
      products[1][c] = two.y;
    }
    subtract_products<W>(h, products, p);
  }
}

/* Solve H x = right, after begin_equations. x in the workspace becomes the solution, and *bias the
 * last unknown. corner, target: diagonal element and right side of the bias's equation. Returns
 * false, in all lanes, if a pivot is too small to be trusted. H is lost. */
template <int W, bool biased>
__device__ inline bool solve_by_panels(panel_workspace<W> *workspace, float (*h)[4], float corner,
                                       float target, float *bias, unsigned lane) {
  constexpr float least = 2.0F * (float)W * FLT_EPSILON; /* least pivot, relative to its diagonal
                                                            element */
  constexpr int rows = rows_of_lane<W>;
  factor_by_panels<W, biased>(workspace, h, lane);
  bool good = true;
  float rest[rows];
#pragma unroll
  for (int s = 0; s < rows; s++) {
    const unsigned r = 32U * (unsigned)s + lane % W;
    const float by = workspace->factors[r / 4][r % 4]; /* by^-2 is the pivot */
    good = good && by * by * workspace->x[r] * least < 1.0F;
    rest[s] = workspace->extra(0)[r];
  }
  *bias = 0.0F;
  if constexpr (biased) {
    float z[rows];
    float zz = 0.0F;
    float zy = 0.0F;
#pragma unroll
    for (int s = 0; s < rows; s++) {
      z[s] = has_row<W>(lane) ? workspace->extra(1)[32U * (unsigned)s + lane] : 0.0F;
      zz = fmaf(z[s], z[s], zz);
      zy = fmaf(z[s], rest[s], zy);
    }
    const float pivot = corner - sum_of_lanes(zz);
    good = good && pivot > corner * least;
    *bias = (target - sum_of_lanes(zy)) / pivot;
#pragma unroll
    for (int s = 0; s < rows; s++)
      rest[s] = fmaf(-*bias, z[s], rest[s]);
  }
  __syncwarp();
  good = solve_transposed<W>(workspace, rest, W / 4, lane) && good;
  good = good && fabsf(*bias) <= FLT_MAX;
  __syncwarp();
  return __all_sync(all_lanes, good);
}

} // namespace

#endif
