/* Solving a row's equations of 64 unknowns, and perhaps a bias, by one warp in float.
 *
 * Cholesky by panels of eight columns, of a matrix in the accumulators of the tensor cores. A panel
 * goes to shared memory, where each lane has two rows. All lanes factor the block of eight on the
 * diagonal, and each divides its rows by the factor. Then the products of the panel are subtracted
 * from the accumulators, as products of nonzeros are added. The right side and, with a bias, the
 * sums of p are two more rows, of lanes 0 and 1. The bias is the last row of the factor. */
#ifndef AMPED_WARP_PANELS_CUDA_CUH
#define AMPED_WARP_PANELS_CUDA_CUH

#include <cfloat>

#include "cuda/complete/factor_eight_cuda.cuh"
#include "cuda/complete/warp_products_cuda.cuh"
#include "cuda/complete/warp_solve_cuda.cuh"

namespace {

/* The factor, in panels of eight columns. Its diagonal is 1 over the factor's. A line has a row of
 * the lower half of the triangle, and after it one of the upper half: 72 columns together. Last
 * lines: the right side, and the sums of p. */
template <> struct solve_workspace<64> {
  float lines[34][72];
  float x[64]; /* the matrix's diagonal; then the solution */

  /* Start of row g of eight. */
  __device__ __forceinline__ float *row(unsigned eight, unsigned g) {
    return eight < 4 ? lines[8 * eight + g] + 64 - 8 * eight : lines[56 - 8 * eight + g];
  }
  __device__ __forceinline__ float &at(unsigned r, unsigned column) {
    return row(r / 8, r % 8)[column];
  }
  /* One of the two more rows. */
  __device__ __forceinline__ float *more(unsigned i) {
    return lines[32 + i];
  }
};

/* Add `weight` to H's diagonal; 1 after the components. */
__device__ inline void add_to_diagonal(solve_workspace<64> *workspace, float (*h)[4], float weight,
                                       unsigned components, unsigned lane) {
  const unsigned g = lane / 4;
  if (lane % 4 == g / 2)
#pragma unroll
    for (int b = 0; b < 8; b++) {
      float *const two = h[tile_at(b / 2, b)] + 2 * (b % 2);
      const float more = column_of<64>(b, g) < components ? weight : 1.0F;
      two[0] += g % 2 == 0 ? more : 0.0F;
      two[1] += g % 2 == 0 ? 0.0F : more;
      workspace->x[8U * (unsigned)b + g] = g % 2 == 0 ? two[0] : two[1];
    }
}

/* Put panel p of H into the workspace. */
__device__ inline void show_panel(solve_workspace<64> *workspace, const float (*h)[4], unsigned p,
                                  unsigned lane) {
  const unsigned g = lane / 4;
  const unsigned t = lane % 4;
#pragma unroll
  for (int n = 0; n < 8; n++)
    if (p == (unsigned)n)
#pragma unroll
      for (int m = n / 2; m < 4; m++)
#pragma unroll
        for (int i = 0; i < 2; i++)
          if (!is_above(m, n, 2 * i))
            *reinterpret_cast<float2 *>(workspace->row(2U * m + i, g) + 8U * n + 2 * t) =
                make_float2(h[tile_at(m, n)][2 * i], h[tile_at(m, n)][2 * i + 1]);
}

/* Factor H. The two more rows become solutions. Rows of a lane: `lane` and 32 + lane. */
template <bool biased>
__device__ inline void factor_by_panels(solve_workspace<64> *workspace, float (*h)[4],
                                        unsigned lane) {
  constexpr int more = biased ? 2 : 1;
  const unsigned g = lane / 4;
  const unsigned t = lane % 4;
  float rest[2][2]; /* the lane's elements of the two more rows */
#pragma unroll
  for (int i = 0; i < more; i++)
#pragma unroll
    for (int s = 0; s < 2; s++)
      rest[i][s] = workspace->more(i)[32 * s + lane];
#pragma unroll 1
  for (unsigned p = 0; p < 8; p++) {
    show_panel(workspace, h, p, lane);
    if (lane / 8 == p % 4)
#pragma unroll
      for (int i = 0; i < more; i++)
        workspace->more(i)[8 * p + lane % 8] = p < 4 ? rest[i][0] : rest[i][1];
    __syncwarp();
    float l[8][8];
    float by[8];
    float *const block = workspace->row(p, 0) + 8 * p;
#pragma unroll
    for (int i = 0; i < 8; i++)
      load_eight(block + 72 * i, l[i]);
    factor_eight(l, by);
    __syncwarp();
    if (lane == 0)
#pragma unroll
      for (int i = 0; i < 8; i++) {
        float own[8];
#pragma unroll
        for (int j = 0; j < 8; j++)
          own[j] = i == j ? by[i] : l[i][j];
        store_eight(own, block + 72 * i);
      }
    float v[2][8];
#pragma unroll
    for (int s = 0; s < 2; s++) {
      const unsigned r = 32 * s + lane;
      const bool is_more = s == 0 && lane < (unsigned)more;
      float *const own = (is_more ? workspace->more(lane) : workspace->row(r / 8, r % 8)) + 8 * p;
      if (is_more || r >= 8 * p + 8) {
        load_eight(own, v[s]);
        factor_row(v[s], l, by);
        store_eight(v[s], own);
      }
    }
    __syncwarp();
    if (p == 7)
      break;
#pragma unroll
    for (int i = 0; i < more; i++) {
      float y[8];
      load_eight(workspace->more(i) + 8 * p, y);
#pragma unroll
      for (int s = 0; s < 2; s++)
#pragma unroll
        for (int j = 0; j < 8; j++)
          rest[i][s] = fmaf(-v[s][j], y[j], rest[i][s]);
    }
    float products[2][8];
#pragma unroll
    for (int c = 0; c < 8; c++) {
      const float2 two = *reinterpret_cast<const float2 *>(workspace->row(c, g) + 8 * p + 2 * t);
      products[0][c] = two.x;
      products[1][c] = two.y;
    }
    subtract_products<64>(h, products, p);
  }
}

/* Solve with the transposed factor. rest: the right side at unknowns `lane` and 32 + lane. x in the
 * workspace becomes the solution. Returns false if it is not finite. */
__device__ inline bool solve_panels_transposed(solve_workspace<64> *workspace, float *rest,
                                               unsigned lane) {
  bool good = true;
#pragma unroll 1
  for (int p = 7; p >= 0; p--) {
    const float *const start = workspace->row((unsigned)p, 0);
    float x[8];
#pragma unroll
    for (int i = 0; i < 8; i++)
      x[i] = __shfl_sync(all_lanes, p < 4 ? rest[0] : rest[1], (8 * p + i) % 32);
#pragma unroll
    for (int j = 7; j >= 0; j--) {
      float l[8];
      load_eight(start + 72 * j + 8 * p, l);
      x[j] *= l[j];
#pragma unroll
      for (int i = 0; i < j; i++)
        x[i] = fmaf(-l[i], x[j], x[i]);
    }
#pragma unroll
    for (int j = 0; j < 8; j++) {
#pragma unroll
      for (int s = 0; s < 2; s++)
        rest[s] = fmaf(-start[72 * j + 32 * s + (int)lane], x[j], rest[s]);
      good = good && fabsf(x[j]) <= FLT_MAX;
    }
    if (lane == 0)
      store_eight(x, workspace->x + 8 * p);
  }
  return good;
}

/* Solve H x = right, with the right side and the sums of p in the workspace after
 * add_to_diagonal. x in the workspace becomes the solution, and *bias the last unknown. corner,
 * target: diagonal element and right side of the bias's equation. Returns false, in all lanes, if a
 * pivot is too small to be trusted. H is lost. */
template <bool biased>
__device__ inline bool solve_by_panels(solve_workspace<64> *workspace, float (*h)[4], float corner,
                                       float target, float *bias, unsigned lane) {
  constexpr float least = 128.0F * FLT_EPSILON; /* least pivot, relative to its diagonal element */
  factor_by_panels<biased>(workspace, h, lane);
  bool good = true;
  float rest[2];
#pragma unroll
  for (int s = 0; s < 2; s++) {
    const unsigned r = 32 * s + lane;
    const float by = workspace->at(r, r); /* by^-2 is the pivot */
    good = good && by * by * workspace->x[r] * least < 1.0F;
    rest[s] = workspace->more(0)[r];
  }
  *bias = 0.0F;
  if (biased) {
    float z[2];
    float zz = 0.0F;
    float zy = 0.0F;
#pragma unroll
    for (int s = 0; s < 2; s++) {
      z[s] = workspace->more(1)[32 * s + lane];
      zz = fmaf(z[s], z[s], zz);
      zy = fmaf(z[s], rest[s], zy);
    }
    zz = sum_of_lanes(zz);
    zy = sum_of_lanes(zy);
    const float pivot = corner - zz;
    good = good && pivot > corner * least;
    *bias = (target - zy) / pivot;
    rest[0] = fmaf(-*bias, z[0], rest[0]);
    rest[1] = fmaf(-*bias, z[1], rest[1]);
  }
  __syncwarp();
  good = solve_panels_transposed(workspace, rest, lane) && good;
  good = good && fabsf(*bias) <= FLT_MAX;
  __syncwarp();
  return __all_sync(all_lanes, good);
}

} // namespace

#endif
