/* Equations of a row of up to W = 32 P components that P warps share: their sums, as accumulators
 * of the tensor cores, and their solution in float.
 *
 * Units. H is symmetric, and has 2 P x 2 P units of 16 x 16. Warp w has units (i, i + d), modulo 2
 * P, of rows i = 2 w and 2 w + 1: all with d < P, and every other one with d = P. These are 2 P + 1
 * units, for which the warp needs few fragments.
 *
 * Solution. Cholesky by panels of 8 columns, one thread per row. The products of a panel are
 * subtracted from the accumulators as the products of nonzeros are added. The panels stay in shared
 * memory for the back substitution. The right side and, with a bias, the sums of p are two more
 * rows. */
#ifndef AMPED_WIDE_SOLVE_CUDA_CUH
#define AMPED_WIDE_SOLVE_CUDA_CUH

#include <cfloat>

#include "cuda/complete/fit_columns_cuda.cuh"

namespace {

template <int P> struct wide_shape {
  static constexpr int columns = 32 * P; /* columns, threads, and nonzeros of a round */
  static constexpr int blocks = 4 * P;   /* blocks of 8 coordinates */
  static constexpr int halves = 2 * P;   /* blocks of 16 coordinates */
  static constexpr int units = 2 * P + 1;
  static constexpr int steps = 4 * P; /* steps of 8 nonzeros in a round */
};

/* Start of panel k of the factor, which has rows 8 k and on, of 8 numbers. After each panel 8
 * unused numbers let the threads of a warp, which have one column each, read from different
 * banks. */
template <int P> __host__ __device__ constexpr unsigned panel_at(unsigned k) {
  return 8 * wide_shape<P>::columns * k - 32 * (k * k - k) + 8 * k;
}

/* The shared memory of a thread block. */
template <int P, int N, typename I> struct wide_workspace {
  static constexpr int columns = wide_shape<P>::columns;
  uint4 parts[2][wide_shape<P>::blocks][32]; /* high parts of two numbers, and low parts */
  union {
    float4 folds[2 * wide_shape<P>::units + 2][columns];
    float factor[panel_at<P>(wide_shape<P>::blocks)];
  };
  alignas(16) float panel[columns + 2][8]; /* row `columns`: right side; the next row: sums of p */
  alignas(16) float y[2][columns];         /* solutions of L y = right side, and L y = sums */
  alignas(16) float pivots[columns];       /* 1 over the diagonal of the factor */
  alignas(16) float x[columns];
  float targets[columns], sums[columns], least[columns];
  float products[2][P];
  double totals[3][P];
  /* Each thread's own sums, which would take registers. of_piece: n, targets and squares of the
   * thread's nonzeros of a piece; of_strip: squares and penalties of the rows that are solved. */
  double of_piece[3][columns];
  double of_strip[2][columns];
  double count_of_strip;
  struct {
    I inputs[N][columns];
    float target[columns];
    float root[columns]; /* square root of the weight */
    unsigned alive[P];
  } taken[2]; /* nonzeros of two rounds */
};

/* Place of a lane's fragments among the 32 of a block. In this order, eight threads write the
 * fragments of lanes 0, 4, 8, ... to different banks. */
__device__ inline unsigned spot_of(unsigned lane) {
  return lane ^ lane >> 3;
}

/* High and low parts of two numbers, as they lie in memory. */
__device__ inline uint4 parts_of(float a, float b) {
  const unsigned high[2] = {(__float_as_uint(a) + 0x1000U) & 0xffffe000U,
                            (__float_as_uint(b) + 0x1000U) & 0xffffe000U};
  return make_uint4(high[0], high[1], __float_as_uint(a - __uint_as_float(high[0])),
                    __float_as_uint(b - __uint_as_float(high[1])));
}

/* c += a b, with c and a of 16 x 8 numbers; b as it lies in memory. */
__device__ inline void add_product(float *c, const unsigned *a, unsigned b0, unsigned b1) {
  multiply_tf32(c, a[0], a[1], a[2], a[3], b0, b1);
}

/* h += the products of eight nonzeros, for warp w. of_panel: h -= the products of a panel, except
 * units that end before panel k or with it. columns: the fragments of all blocks, at the lane's
 * place. */
template <int P, bool of_panel>
__device__ inline void multiply_units(float (*h)[2][4], const uint4 (*columns)[32], unsigned w,
                                      unsigned k) {
  constexpr bool is_odd = P % 2 > 0;
  constexpr int last = is_odd ? P : P + 1;
  /* The warp's own 32 coordinates are also rows: two times 16, high parts and low parts. Rows and
   * columns need different neighbours in registers. A bit that tensor cores ignore or, for a panel,
   * the sign makes rows other numbers. Otherwise the compiler would hold one of the two and move it
   * for each product. */
  uint4 own[4];
  unsigned rows[2][2][4];
#pragma unroll
  for (int c = 0; c < 4; c++)
    own[c] = columns[4 * w + (unsigned)c][0];
  const auto of_row = [](unsigned x) { return of_panel ? x ^ 0x80000000U : x | 1U; };
#pragma unroll
  for (int c = 0; c < 4; c++) {
    rows[c / 2][0][c % 2] = of_row(own[c].x);
    rows[c / 2][0][2 + c % 2] = of_row(own[c].y);
    rows[c / 2][1][c % 2] = of_row(own[c].z);
    rows[c / 2][1][2 + c % 2] = of_row(own[c].w);
  }
  uint4 b[2][2]; /* fragments; the next unit's are loaded before this one's are multiplied */
  const auto place = [&](int j) { return (2 * w + (unsigned)j) % wide_shape<P>::halves; };
  const auto load = [&](int j) {
    b[j % 2][0] = j < 2 ? own[2 * j] : columns[2 * place(j)][0];
    b[j % 2][1] = j < 2 ? own[2 * j + 1] : columns[2 * place(j) + 1][0];
  };
  if (!of_panel)
    load(0);
#pragma unroll
  for (int j = 0; j <= last; j++) {
    const bool has[2] = {j < P || (j == P && (is_odd || w < P / 2)),
                         j > 0 && (j <= P || w >= P / 2)};
    if (of_panel && 2 * place(j) + 1 <= k)
      continue;
    if (of_panel)
      load(j);
    else if (j < last)
      load(j + 1);
    float(*const c[2])[4] = {h[j < P ? j : 2 * P], h[j > P ? 2 * P : P + (j > 0 ? j - 1 : 0)]};
    /* Small products first. Products of one tile lie apart, because each waits for the previous
     * one. */
#pragma unroll
    for (int part = 0; part < 3; part++)
#pragma unroll
      for (int r = 0; r < 2; r++)
        if (has[r])
#pragma unroll
          for (int half = 0; half < 2; half++) {
            const uint4 &x = b[j % 2][half];
            add_product(c[r][half], rows[r][part == 0 ? 1 : 0], part == 1 ? x.z : x.x,
                        part == 1 ? x.w : x.y);
          }
  }
}

/* Row and column of unit u of warp w, in units. */
template <int P> struct unit_place { unsigned i, j; };
template <int P> __device__ inline unit_place<P> place_of_unit(int u, unsigned w) {
  const bool is_last = u == 2 * P;
  const bool is_second = is_last ? P % 2 == 0 && w >= P / 2 : u >= P;
  const unsigned i = 2 * w + (is_second ? 1 : 0);
  return {i, (i + (unsigned)(is_last ? P : u % P)) % wide_shape<P>::halves};
}

/* Put the warp's part of a panel, half `half` of column `unit`, into shared memory. */
template <int P>
__device__ inline void show_panel(float (*panel)[8], const float (*h)[2][4], unsigned w,
                                  unsigned unit, int half, unsigned lane) {
  const unsigned g = lane / 4;
  const unsigned t = lane % 4;
#pragma unroll
  for (int u = 0; u < wide_shape<P>::units; u++) {
    const unit_place<P> at = place_of_unit<P>(u, w);
    if (at.j == unit && at.i >= unit) {
      float2 *const to = reinterpret_cast<float2 *>(panel[16 * at.i + g]) + t;
      to[0] = make_float2(h[u][half][0], h[u][half][1]);
      to[32] = make_float2(h[u][half][2], h[u][half][3]);
    } else if (at.i == unit && at.j > unit) {
#pragma unroll
      for (int e = 0; e < 4; e++)
        panel[16 * at.j + 8 * (unsigned)(e / 2) + 2 * t + (unsigned)(e % 2)][g] =
            h[u][e / 2][2 * half + e % 2];
    }
  }
}

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

/* Cholesky of the matrix that the warps' accumulators hold. right, sum: the thread's elements of
 * the two more rows. After panel k, all units of warps before k / 4 are done. Warp k / 4 has the
 * unit on the diagonal, and writes its factor to shared memory. */
template <int P, int N, typename I>
__device__ inline void factor_wide(wide_workspace<P, N, I> &d, float (*h)[2][4], float right,
                                   float sum, unsigned w, unsigned lane) {
  constexpr unsigned columns = wide_shape<P>::columns;
  const unsigned row = 32 * w + lane;
  const unsigned spot = spot_of(lane);
#pragma unroll 1
  for (unsigned unit = 0; unit < wide_shape<P>::halves; unit++)
#pragma unroll
    for (int half = 0; half < 2; half++) {
      const unsigned k = 2 * unit + (unsigned)half;
      float *const panel = d.factor + panel_at<P>(k);
      float l[8][8];
      float by[8];
      float v[8];
      if (w >= k / 4)
        show_panel<P>(d.panel, h, w, unit, half, lane);
      if (w == k / 4) {
        if (row / 8 == k) {
          d.panel[columns][row % 8] = right;
          d.panel[columns + 1][row % 8] = sum;
        }
        __syncwarp();
#pragma unroll
        for (int i = 0; i < 8; i++)
          load_eight(d.panel[8 * k + (unsigned)i], l[i]);
        factor_eight(l, by);
        if (lane == 0) {
#pragma unroll
          for (int i = 0; i < 8; i++)
            store_eight(l[i], panel + 8 * i);
          store_eight(by, d.pivots + 8 * k);
        }
      }
      __syncthreads();
      if (w >= k / 4) {
#pragma unroll
        for (int i = 0; i < 8; i++)
          load_eight(panel + 8 * i, l[i]);
        load_eight(d.pivots + 8 * k, by);
        load_eight(d.panel[row], v);
        factor_row(v, l, by);
        if (row >= 8 * k + 8) {
          store_eight(v, panel + 8 * (row - 8 * k));
#pragma unroll
          for (int i = 0; i < 4; i++)
            d.parts[0][row / 8][spot_of(4 * (row % 8) + (unsigned)i)] = parts_of(v[i], v[i + 4]);
        }
        if (w == k / 4) {
          float more[8];
          load_eight(d.panel[columns + lane % 2], more);
          factor_row(more, l, by);
          if (lane < 2)
            store_eight(more, d.y[lane] + 8 * k);
        }
      }
      __syncthreads();
      if (w >= k / 4) {
        if (row >= 8 * k + 8) {
          float y[8];
          load_eight(d.y[0] + 8 * k, y);
#pragma unroll
          for (int j = 0; j < 8; j++)
            right = fmaf(-v[j], y[j], right);
          load_eight(d.y[1] + 8 * k, y);
#pragma unroll
          for (int j = 0; j < 8; j++)
            sum = fmaf(-v[j], y[j], sum);
        }
        const uint4(*const fragments)[32] =
            reinterpret_cast<const uint4(*)[32]>(&d.parts[0][0][spot]);
        multiply_units<P, true>(h, fragments, w, k);
      }
    }
}

/* Solve L^T x = rest. Returns the thread's element of x. */
template <int P, int N, typename I>
__device__ inline float solve_back(wide_workspace<P, N, I> &d, float rest, unsigned row) {
  float own = 0.0F;
#pragma unroll 1
  for (unsigned k = wide_shape<P>::blocks; k-- > 0;) {
    if (row / 8 == k)
      d.x[row] = rest;
    __syncthreads();
    if (row / 32 <= k / 4) {
      float x[8];
      float by[8];
      load_eight(d.x + 8 * k, x);
      load_eight(d.pivots + 8 * k, by);
#pragma unroll
      for (int j = 7; j >= 0; j--) {
        float l[8];
        load_eight(d.factor + panel_at<P>(k) + 8 * (unsigned)j, l);
        x[j] *= by[j];
#pragma unroll
        for (int i = 0; i < j; i++)
          x[i] = fmaf(-l[i], x[j], x[i]);
      }
      if (row / 8 == k) {
#pragma unroll
        for (int j = 0; j < 8; j++)
          own = row % 8 == (unsigned)j ? x[j] : own;
      } else if (row / 8 < k) {
        const float *const l = d.factor + panel_at<P>(row / 8) + 64 * (k - row / 8) + row % 8;
#pragma unroll
        for (int j = 0; j < 8; j++)
          rest = fmaf(-l[8 * j], x[j], rest);
      }
    }
  }
  return own;
}

/* Call f(unit, half, element, row, column) for all of a lane's numbers, with row and column as
 * coordinates. */
template <int P, typename F>
__device__ inline void for_numbers(unsigned warp, unsigned lane_of_warp, const F &f) {
  const unsigned w = fresh(warp);
  const unsigned lane = fresh(lane_of_warp);
#pragma unroll
  for (int u = 0; u < wide_shape<P>::units; u++) {
    const unit_place<P> at = place_of_unit<P>(u, w);
#pragma unroll
    for (int half = 0; half < 2; half++)
#pragma unroll
      for (int e = 0; e < 4; e++)
        f(u, half, e, 16 * at.i + lane / 4 + 8U * (unsigned)(e / 2),
          16 * at.j + 8U * (unsigned)half + 2 * (lane % 4) + (unsigned)(e % 2));
  }
}

} // namespace

#endif
