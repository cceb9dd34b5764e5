/* Solving W = 16 or 32 equations by one warp, in float.
 *
 * Cholesky in shared memory, four columns at a time. Each lane has a row of the matrix. It
 * subtracts the products of earlier columns from its next four elements. All lanes factor the block
 * of four on the diagonal, and each divides its four elements by the factor. The right side is one
 * more row, of a lane whose row is done first, so it becomes the solution of the triangular
 * system. */
#ifndef AMPED_WARP_SOLVE_CUDA_CUH
#define AMPED_WARP_SOLVE_CUDA_CUH

#include <cfloat>

#include "cuda/complete/fit_problem_cuda.cuh"
#include "cuda/device/ptx_cuda.cuh"

namespace {

/* A warp's workspace in shared memory. Row W of a: the right side. */
template <int W> struct solve_workspace {
  float a[W + 1][W + 4];
  float block[4][4];        /* current block on the diagonal */
  float factors[W / 4][12]; /* each block: 1 over the diagonal; then (1,0) (2,0) (2,1) (3,0) (3,1)
                               (3,2) */
  float x[W];

  static constexpr int stride = W + 4; /* from a row to the next of four */
  __device__ __forceinline__ float *row(unsigned r) {
    return a[r];
  }
};

__device__ inline void read4(const float *from, float *to) {
  const float4 v = *reinterpret_cast<const float4 *>(from);
  to[0] = v.x;
  to[1] = v.y;
  to[2] = v.z;
  to[3] = v.w;
}
__device__ inline void write4(float *to, float x, float y, float z, float w) {
  *reinterpret_cast<float4 *>(to) = make_float4(x, y, z, w);
}

/* Cholesky factor of a block of four: 1 over its diagonal, and the elements below. stride: numbers
 * from a row to the next. */
struct factor4 {
  float s[4];
  float l10, l20, l21, l30, l31, l32;
};
__device__ inline factor4 factor_of(const float *block, int stride) {
  float d0[4];
  float d1[4];
  float d2[4];
  float d3[4];
  read4(block, d0);
  read4(block + stride, d1);
  read4(block + 2 * stride, d2);
  read4(block + 3 * stride, d3);
  factor4 f;
  f.s[0] = reciprocal_root(d0[0]);
  f.l10 = d1[0] * f.s[0];
  f.l20 = d2[0] * f.s[0];
  f.l30 = d3[0] * f.s[0];
  f.s[1] = reciprocal_root(fmaf(-f.l10, f.l10, d1[1]));
  f.l21 = fmaf(-f.l20, f.l10, d2[1]) * f.s[1];
  f.l31 = fmaf(-f.l30, f.l10, d3[1]) * f.s[1];
  f.s[2] = reciprocal_root(fmaf(-f.l21, f.l21, fmaf(-f.l20, f.l20, d2[2])));
  f.l32 = fmaf(-f.l31, f.l21, fmaf(-f.l30, f.l20, d3[2])) * f.s[2];
  f.s[3] = reciprocal_root(fmaf(-f.l32, f.l32, fmaf(-f.l31, f.l31, fmaf(-f.l30, f.l30, d3[3]))));
  return f;
}

/* Divide four elements of a row by the block's factor, in place: they become elements of the
 * factor. */
__device__ inline void divide(const factor4 &f, float *a) {
  a[0] *= f.s[0];
  a[1] = fmaf(-a[0], f.l10, a[1]) * f.s[1];
  a[2] = fmaf(-a[1], f.l21, fmaf(-a[0], f.l20, a[2])) * f.s[2];
  a[3] = fmaf(-a[2], f.l32, fmaf(-a[1], f.l31, fmaf(-a[0], f.l30, a[3]))) * f.s[3];
}

/* Store the factor of a block, for the solution with the transposed factor. */
__device__ inline void store_factor(const factor4 &f, float *to) {
  write4(to, f.s[0], f.s[1], f.s[2], f.s[3]);
  write4(to + 4, f.l10, f.l20, f.l21, f.l30);
  to[8] = f.l31;
  to[9] = f.l32;
}

__device__ inline float minus_products(float x, const float *l, const float *other) {
  return fmaf(-l[3], other[3],
              fmaf(-l[2], other[2], fmaf(-l[1], other[1], fmaf(-l[0], other[0], x))));
}

/* Number of a lane's row. */
template <int W> __device__ inline unsigned row_of_lane(unsigned lane) {
  constexpr unsigned right_lane = W == 16 ? 16 : 0;
  return lane == right_lane ? W : lane % W;
}

/* Factor the matrix in the workspace in place: the first `fours` blocks of four columns. */
template <int W>
__device__ inline void factor_on_workspace(solve_workspace<W> *workspace, unsigned fours,
                                           unsigned lane) {
  float *const row = workspace->a[row_of_lane<W>(lane)];
#pragma unroll 1
  for (unsigned p = 0; p < fours; p++) {
    float own[4];
    read4(row + 4 * p, own);
#pragma unroll 2
    for (unsigned q = 0; q < p; q++) {
      float l[4];
      read4(row + 4 * q, l);
#pragma unroll
      for (int i = 0; i < 4; i++) {
        float other[4];
        read4(&workspace->a[4 * p + i][4 * q], other);
        own[i] = minus_products(own[i], l, other);
      }
    }
    if (p == 0) { /* lane 0 may have the right side */
      if (lane < 4)
        *reinterpret_cast<float4 *>(workspace->block[lane]) =
            *reinterpret_cast<const float4 *>(workspace->a[lane]);
    } else if (lane / 4 == p)
      write4(workspace->block[lane % 4], own[0], own[1], own[2], own[3]);
    __syncwarp();
    const factor4 f = factor_of(workspace->block[0], 4);
    if (lane == 0)
      store_factor(f, workspace->factors[p]);
    divide(f, own);
    write4(row + 4 * p, own[0], own[1], own[2], own[3]);
    __syncwarp();
  }
}

/* The rows of a lane are r = lane and, of 64, 32 + lane. */
template <int W> constexpr int rows_of_lane = W == 64 ? 2 : 1;

/* Solve with the transposed factor in the workspace, of which the first `fours` blocks count. rest:
 * the right side at unknowns `lane` and, of 64, 32 + lane. x in the workspace becomes the solution.
 * Returns false if it is not finite. */
template <int W, typename S>
__device__ inline bool solve_transposed(S *workspace, float *rest, unsigned fours, unsigned lane) {
  constexpr int rows = rows_of_lane<W>;
  const unsigned own = lane % W;
  bool good = true;
#pragma unroll 1
  for (int p = (int)fours - 1; p >= 0; p--) {
    float x[4];
    float f[4];
    float l[4];
#pragma unroll
    for (int i = 0; i < 4; i++)
      x[i] = __shfl_sync(all_lanes, p < 8 ? rest[0] : rest[rows - 1], (4 * p + i) % 32);
    read4(workspace->factors[p], f);
    read4(workspace->factors[p] + 4, l);
    const float l31 = workspace->factors[p][8];
    const float l32 = workspace->factors[p][9];
    x[3] *= f[3];
    x[2] = fmaf(-x[3], l32, x[2]) * f[2];
    x[1] = fmaf(-x[3], l31, fmaf(-x[2], l[2], x[1])) * f[1];
    x[0] = fmaf(-x[3], l[3], fmaf(-x[2], l[1], fmaf(-x[1], l[0], x[0]))) * f[0];
    if (lane == 0)
      write4(workspace->x + 4 * p, x[0], x[1], x[2], x[3]);
    const float *const column = workspace->row(4 * (unsigned)p) + own;
#pragma unroll
    for (int i = 0; i < 4; i++) {
#pragma unroll
      for (int s = 0; s < rows; s++)
        rest[s] = fmaf(-column[S::stride * i + 32 * s], x[i], rest[s]);
      good = good && fabsf(x[i]) <= FLT_MAX;
    }
  }
  return good;
}

/* Solve with the factor itself in the same way. rest: the right side at unknown `lane`. Returns the
 * solution there. */
template <int W>
__device__ inline float solve_with_factor(const solve_workspace<W> *workspace, float rest,
                                          unsigned fours, unsigned lane) {
  const unsigned own = lane % W;
#pragma unroll 1
  for (unsigned p = 0; p < fours; p++) {
    float x[4];
    float f[4];
    float l[4];
    float a[4];
#pragma unroll
    for (int i = 0; i < 4; i++)
      x[i] = __shfl_sync(all_lanes, rest, (int)(4 * p) + i);
    read4(workspace->factors[p], f);
    read4(workspace->factors[p] + 4, l);
    read4(&workspace->a[own][4 * p], a);
    const float l31 = workspace->factors[p][8];
    const float l32 = workspace->factors[p][9];
    x[0] *= f[0];
    x[1] = fmaf(-x[0], l[0], x[1]) * f[1];
    x[2] = fmaf(-x[1], l[2], fmaf(-x[0], l[1], x[2])) * f[2];
    x[3] = fmaf(-x[2], l32, fmaf(-x[1], l31, fmaf(-x[0], l[3], x[3]))) * f[3];
#pragma unroll
    for (unsigned i = 0; i < 4; i++)
      rest = own / 4 > p ? fmaf(-a[i], x[i], rest) : own == 4 * p + i ? x[i] : rest;
  }
  return rest;
}

/* Solve the equations in the workspace: the lower triangle of the matrix, and the right side. x in
 * the workspace becomes the solution. Only the first 4 `fours` unknowns are solved for: later ones
 * must have 0 on the right side, and only a diagonal element in their rows. Returns false, in all
 * lanes, if a pivot is too small to be trusted. */
template <int W>
__device__ inline bool solve_on_workspace(solve_workspace<W> *workspace, unsigned fours,
                                          unsigned lane) {
  constexpr float least = 2.0F * (float)W * FLT_EPSILON; /* least pivot, relative to its diagonal
                                                            element */
  const unsigned own = lane % W;
  const float diagonal = workspace->a[own][own];
  __syncwarp();
  factor_on_workspace(workspace, fours, lane);
  const float s = workspace->factors[own / 4][own % 4]; /* 1 over the root of the pivot */
  bool good = own / 4 >= fours || s * s * diagonal * least < 1.0F;
  float rest = workspace->a[W][own];
  good = solve_transposed<W>(workspace, &rest, fours, lane) && good;
  __syncwarp();
  return __all_sync(all_lanes, good);
}

} // namespace

#endif
