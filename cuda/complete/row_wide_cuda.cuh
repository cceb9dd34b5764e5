/* The kernel of row fits with P warps a row, and its launch, as templates: rows of up to W = 32 P
 * components. A .cu file for each width instantiates them (row_wide_96.cu, ...).
 *
 * Coordinates are those of row_warps_cuda.cuh: component c of lane (g, t) of warp w is coordinate
 * 8 (4 w + c) + g, and column 32 w + 4 g + c. Each warp gathers its 32 columns of eight nonzeros,
 * and puts their products, which are fragments of both factors of m16n8k8, into shared memory,
 * where all warps read them: 16 bytes a lane. There are two such buffers, and one barrier a step.
 *
 * Units. H is symmetric, and has 2 P x 2 P units of 16 x 16. Warp w has units (i, i + d), modulo
 * 2 P, of rows i = 2 w and 2 w + 1 for d < P, and for d = P every other one: 2 P + 1, of which it
 * needs few fragments. Every 32 P nonzeros accumulators are added to sums in shared memory.
 *
 * Solution. Cholesky by panels of 8 columns, a thread a row. The products of a panel are taken off
 * the accumulators as those of nonzeros are added. The panels stay in shared memory, for the way
 * back. The right side, and the sums of p where there is a bias, are two more rows.
 */
#ifndef AMPED_ROW_WIDE_CUDA_CUH
#define AMPED_ROW_WIDE_CUDA_CUH

#include "cuda/complete/row_warps_cuda.cuh"

namespace {

template <int P> struct wide_shape {
  static constexpr int columns = 32 * P; /* and threads, and nonzeros of a round */
  static constexpr int blocks = 4 * P;   /* of 8 coordinates */
  static constexpr int halves = 2 * P;   /* of 16 coordinates */
  static constexpr int units = 2 * P + 1;
  static constexpr int steps = 4 * P; /* of 8 nonzeros, in a round */
};

/* Where panel k of the factor begins: it has rows 8 k and on, of 8 numbers. 8 more numbers behind
 * each let the threads of a warp, which have a column each, read from different banks. */
template <int P> __host__ __device__ constexpr unsigned panel_at(unsigned k) {
  return 8 * wide_shape<P>::columns * k - 32 * (k * k - k) + 8 * k;
}

/* The shared memory of a thread block. */
template <int P, int N, typename I> struct wide_desk {
  static constexpr int columns = wide_shape<P>::columns;
  uint4 parts[2][wide_shape<P>::blocks][32]; /* high parts of two numbers, and low parts */
  union {
    float4 folds[2 * wide_shape<P>::units + 2][columns];
    float factor[panel_at<P>(wide_shape<P>::blocks)];
  };
  alignas(16) float panel[columns + 2][8]; /* the last two: of the right side, and the sums */
  alignas(16) float y[2][columns];         /* the solutions of L y = these two */
  alignas(16) float pivots[columns];       /* one over the diagonal of the factor */
  alignas(16) float x[columns];
  float targets[columns], sums[columns], least[columns];
  float products[2][P];
  double totals[3][P];
  /* Each thread's own sums, which would take registers: n, targets and squares of the nonzeros that
   * it took of a piece; squares and penalties of the rows that are solved. */
  double of_piece[3][columns];
  double of_strip[2][columns];
  struct {
    I inputs[N][columns];
    float target[columns];
    float root[columns]; /* of the weight */
    unsigned alive[P];
  } taken[2]; /* nonzeros of a round */
};

/* Where lane's fragments lie among the 32 of a block. In solutions a thread writes the fragments of
 * four lanes: so those of eight threads lie in different banks. */
__device__ inline unsigned spot_of(unsigned lane) {
  return lane ^ lane >> 3;
}

/* The fragments of the 32 coordinates of a warp, two times 16, as rows: high parts, low parts. */
struct row_fragments {
  unsigned parts[2][2][4];
};

/* A number's parts. Tensor cores ignore the last 13 bits. So they may differ in those of a row and
 * of a column, which keeps the compiler from holding both in one register: as a row's fragment a
 * number lies between others than as a column's, and it would be moved for each product. */
struct wide_split {
  unsigned row_high, row_low, column_high, column_low;
};
__device__ inline wide_split wide_split_of(float x) {
  wide_split s;
  s.row_high = __float_as_uint(x) + 0x1000U;
  s.column_high = s.row_high & 0xffffe000U;
  s.row_low = __float_as_uint(x - __uint_as_float(s.column_high));
  s.column_low = s.row_low + 0x1000U;
  return s;
}

/* c += a b, of 16 x 8 numbers each, in three products; b as it lies in memory. */
__device__ inline void add_product(float *c, const unsigned *a, unsigned b0, unsigned b1) {
  multiply_tf32(c, a[0], a[1], a[2], a[3], b0, b1);
}

/* h += the products of eight nonzeros, or of a panel, for warp w. rows: its own. columns: the
 * fragments of all blocks, at the lane's place. With `of_panel` columns before panel k, and its
 * own, are left out. */
template <int P, bool of_panel>
__device__ inline void multiply_units(float (*h)[2][4], const row_fragments &rows,
                                      const uint4 (*columns)[32], unsigned w, unsigned k) {
  constexpr bool is_odd = P % 2 > 0;
  constexpr int last = is_odd ? P : P + 1;
  uint4 b[2][2]; /* those of the next unit are asked for before this one's are multiplied */
  const auto place = [&](int j) { return (2 * w + (unsigned)j) % wide_shape<P>::halves; };
  const auto load = [&](int j) {
    b[j % 2][0] = columns[2 * place(j)][0];
    b[j % 2][1] = columns[2 * place(j) + 1][0];
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
    /* Small products first. Those of one tile lie apart, as each waits for the last. */
#pragma unroll
    for (int part = 0; part < 3; part++)
#pragma unroll
      for (int r = 0; r < 2; r++)
        if (has[r])
#pragma unroll
          for (int half = 0; half < 2; half++) {
            const uint4 &x = b[j % 2][half];
            add_product(c[r][half], rows.parts[r][part == 0 ? 1 : 0], part == 1 ? x.z : x.x,
                        part == 1 ? x.w : x.y);
          }
  }
}

/* The rows and columns of unit u of warp w, in units. */
template <int P> struct unit_place { unsigned i, j; };
template <int P> __device__ inline unit_place<P> place_of_unit(int u, unsigned w) {
  const bool is_last = u == 2 * P;
  const bool is_second = is_last ? P % 2 == 0 && w >= P / 2 : u >= P;
  const unsigned i = 2 * w + (is_second ? 1 : 0);
  return {i, (i + (unsigned)(is_last ? P : u % P)) % wide_shape<P>::halves};
}

/* Put panel k, half `half` of unit k / 2, into shared memory. */
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

/* The lower triangle of 8 x 8 numbers becomes its factor, whose diagonal is by^-1. */
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

/* A row v of the matrix becomes that of the factor. */
__device__ inline void factor_row(float *v, const float (*l)[8], const float *by) {
#pragma unroll
  for (int j = 0; j < 8; j++) {
    v[j] *= by[j];
#pragma unroll
    for (int c = j + 1; c < 8; c++)
      v[c] = fmaf(-v[j], l[c][j], v[c]);
  }
}

/* Cholesky of what the warps have. right and sum: the thread's number of the two more rows. Where
 * panel k is done, so are all units of warps before k / 4. Warp k / 4 has the unit on the diagonal,
 * and shows the others its factor. */
template <int P, int N, typename I>
__device__ inline void factor_wide(wide_desk<P, N, I> &d, float (*h)[2][4], float right, float sum,
                                   unsigned w, unsigned lane) {
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
          for (int i = 0; i < 4; i++) {
            const wide_split a = wide_split_of(v[i]);
            const wide_split b = wide_split_of(v[i + 4]);
            d.parts[0][row / 8][spot_of(4 * (row % 8) + (unsigned)i)] =
                make_uint4(a.column_high, b.column_high, a.column_low, b.column_low);
          }
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
        row_fragments rows; /* minus the panel's */
#pragma unroll
        for (int c = 0; c < 4; c++) {
          const uint4 x = fragments[4 * w + (unsigned)c][0];
          rows.parts[c / 2][0][c % 2] = x.x ^ 0x80000000U;
          rows.parts[c / 2][0][2 + c % 2] = x.y ^ 0x80000000U;
          rows.parts[c / 2][1][c % 2] = x.z ^ 0x80000000U;
          rows.parts[c / 2][1][2 + c % 2] = x.w ^ 0x80000000U;
        }
        multiply_units<P, true>(h, rows, fragments, w, k);
      }
    }
}

/* Solve L^T x = rest. Returns the thread's x. */
template <int P, int N, typename I>
__device__ inline float solve_back(wide_desk<P, N, I> &d, float rest, unsigned row) {
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

/* f(unit, half, element, row, column) for all numbers of a lane, by coordinates. */
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

/* The thread blocks that shall fit on a multiprocessor, by registers. */
template <int P, int N> struct wide_tuning { static constexpr int blocks = P == 4 ? 3 : 4; };

template <int P, int N, typename I>
__global__ void __launch_bounds__(32 * P, wide_tuning<P, N>::blocks)
    fit_wide_rows(const fit_problem<float, I> p) {
  constexpr int W = 32 * P;
  constexpr unsigned columns = wide_shape<P>::columns;
  constexpr unsigned round = wide_shape<P>::steps;
  constexpr int units = wide_shape<P>::units;
  constexpr int held_inputs = N < most_inputs ? N : 1; /* more are multiplied as they come */
  extern __shared__ __align__(16) unsigned char shared[];
  wide_desk<P, N, I> &d = *reinterpret_cast<wide_desk<P, N, I> *>(shared);
  const unsigned lane = threadIdx.x % 32;
  /* The last warps have more to do when rows are solved: in each block others. */
  const unsigned w = (__shfl_sync(all_lanes, threadIdx.x / 32, 0) + blockIdx.x) % P;
  const unsigned g = lane / 4;
  const unsigned t = lane % 4;
  const unsigned row = 32 * w + lane; /* the coordinate that is the thread's in solutions */
  const unsigned spot = spot_of(lane);
  const uint64_t strip = p.first_strip + blockIdx.x;
  const amped_row_piece_cuda *const end = p.pieces + p.strip_ends[strip];
  const unsigned ld = (unsigned)p.ld;
  const unsigned first_column = 32 * w + 4 * g;
  const unsigned offset = first_column < ld ? first_column : 0;
  const bool masks = p.components < columns;
  const bool weighs = p.weights != nullptr || p.implicit > 0.0;
  const amped_row_piece_cuda *piece = p.pieces + (strip > 0 ? p.strip_ends[strip - 1] : 0);
  unsigned base = (unsigned)(piece->first - p.first);
  unsigned count = piece->count;
  const unsigned last = (unsigned)(end[-1].first - p.first) + end[-1].count - 1;
  double all_count = 0.0;
#pragma unroll
  for (int i = 0; i < 3; i++)
    d.of_piece[i][row] = d.of_strip[i / 2][row] = 0.0;

  /* The round behind the one taken last: a nonzero a thread, as it lies in memory. */
  const auto place = [&](unsigned k) { return k < last ? k : last; };
  unsigned k = 0;
  raw_nonzero<float, N> raw;
  unsigned held = 0;
  const auto load = [&](unsigned first) {
    k = place(first + row);
    raw = load_nonzero<float, I, N>(p, k);
    held = p.held != nullptr ? __ldg(p.held + k / 32) : 0U;
  };

  /* Nonzeros j and on of the piece at `base`, of `count`, into shared memory; then load those
   * behind. */
  const auto take = [&](unsigned j) {
    auto &to = d.taken[j / columns % 2];
    const bool on = j + row < count && !(held >> (k % 32) & 1U);
    const nonzero<float, I, N> mine = decode<float, I, N>(p, raw, k);
    double y = ((double)mine.value - p.mean) * p.per_scale;
    if (p.biased) {
      float others = 0.0F;
#pragma unroll
      for (int m = 0; m < N; m++)
        if (N < most_inputs || m < (int)p.inputs)
          others += __ldg(row_at(p.factors[m], mine.input[m], ld) + p.components);
      y -= (double)others;
    }
    const unsigned alive = __ballot_sync(all_lanes, on);
    fit_term of = {0.0, 0.0, 0.0, 0.0};
    if (on)
      of = weighs ? term_of(p, y, k) : fit_term{1.0, y, y * y, 1.0};
    d.of_piece[0][row] += of.count;
    d.of_piece[1][row] += of.target;
    d.of_piece[2][row] += of.square;
#pragma unroll
    for (int m = 0; m < N; m++)
      if (N < most_inputs || m < (int)p.inputs)
        to.inputs[m][row] = mine.input[m];
    to.target[row] = (float)of.target;
    if (weighs)
      to.root[row] = (float)sqrt(of.weight);
    if (lane == 0)
      to.alive[w] = alive;
    load(base + (j + columns < count ? j + columns : count));
  };

  const float *shares[held_inputs]; /* the lane's columns of each factor's first row */
#pragma unroll
  for (int m = 0; m < held_inputs; m++)
    shares[m] = kept(p.factors[m] + offset);

  /* The columns of nonzeros t and t + 4 of step s of the piece. */
  float rows[2][held_inputs][4];
  const auto ask = [&](unsigned s) {
    const auto &of = d.taken[s / round % 2];
#pragma unroll
    for (int i = 0; i < 2; i++) {
      const unsigned from = 8 * (s % round) + t + 4 * (unsigned)i;
#pragma unroll
      for (int m = 0; m < N; m++)
        if (N < most_inputs || m < (int)p.inputs) {
          const float4 v = __ldg(reinterpret_cast<const float4 *>(
              row_at(N < most_inputs ? shares[N < most_inputs ? m : 0] : p.factors[m] + offset,
                     of.inputs[m][from], ld)));
          float *const to = rows[i][N < most_inputs ? m : 0];
          const bool is_first = N < most_inputs || m == 0;
          to[0] = is_first ? v.x : to[0] * v.x;
          to[1] = is_first ? v.y : to[1] * v.y;
          to[2] = is_first ? v.z : to[2] * v.z;
          to[3] = is_first ? v.w : to[3] * v.w;
        }
    }
  };

  load(base);
  take(0);
  __syncthreads();
  ask(0);
  for (; piece < end;) {
    float h[units][2][4];
    float targets[4]; /* of the lane's columns */
    float sums[4];
#pragma unroll
    for (int u = 0; u < units; u++)
#pragma unroll
      for (int e = 0; e < 8; e++)
        h[u][e / 4][e % 4] = 0.0F;
#pragma unroll
    for (int c = 0; c < 4; c++)
      targets[c] = sums[c] = 0.0F;

    /* What was asked for becomes the fragments of step s. */
    row_fragments fragments;
    const auto put = [&](unsigned s) {
      const auto &of = d.taken[s / round % 2];
      const unsigned from = 8 * (s % round) + t;
      const unsigned alive = of.alive[s % round / 4] >> 8 * (s % 4) & 0xffU;
      float x[2][4];
#pragma unroll
      for (int i = 0; i < 2; i++)
#pragma unroll
        for (int c = 0; c < 4; c++) {
          x[i][c] = rows[i][0][c];
#pragma unroll
          for (int m = 1; m < held_inputs; m++)
            x[i][c] *= rows[i][m][c];
        }
      if (masks) {
#pragma unroll
        for (int c = 0; c < 4; c++) {
          const bool is_there = first_column + (unsigned)c < p.components;
          x[0][c] = is_there ? x[0][c] : 0.0F;
          x[1][c] = is_there ? x[1][c] : 0.0F;
        }
      }
      if (alive != 0xffU) {
#pragma unroll
        for (int i = 0; i < 2; i++)
#pragma unroll
          for (int c = 0; c < 4; c++)
            x[i][c] = alive >> (t + 4 * (unsigned)i) & 1U ? x[i][c] : 0.0F;
      }
      const float y[2] = {of.target[from], of.target[from + 4]};
#pragma unroll
      for (int c = 0; c < 4; c++)
        targets[c] = fmaf(y[0], x[0][c], fmaf(y[1], x[1][c], targets[c]));
      if (weighs) {
        const float root[2] = {of.root[from], of.root[from + 4]};
#pragma unroll
        for (int c = 0; c < 4; c++) {
          x[0][c] *= root[0];
          x[1][c] *= root[1];
          sums[c] = fmaf(root[0], x[0][c], fmaf(root[1], x[1][c], sums[c]));
        }
      } else if (p.biased) {
#pragma unroll
        for (int c = 0; c < 4; c++)
          sums[c] += x[0][c] + x[1][c];
      }
#pragma unroll
      for (int c = 0; c < 4; c++) {
        const wide_split a = wide_split_of(x[0][c]);
        const wide_split b = wide_split_of(x[1][c]);
        d.parts[s % 2][4 * w + (unsigned)c][spot] =
            make_uint4(a.column_high, b.column_high, a.column_low, b.column_low);
        fragments.parts[c / 2][0][c % 2] = a.row_high;
        fragments.parts[c / 2][0][2 + c % 2] = b.row_high;
        fragments.parts[c / 2][1][c % 2] = a.row_low;
        fragments.parts[c / 2][1][2 + c % 2] = b.row_low;
      }
    };

    const auto fold = [&](bool is_first, bool is_last) {
      float4 *const own = &d.folds[0][row];
      const auto four = [&](int i, float *x) {
        float4 sum = is_first ? make_float4(0.0F, 0.0F, 0.0F, 0.0F) : own[i * W];
        sum = make_float4(sum.x + x[0], sum.y + x[1], sum.z + x[2], sum.w + x[3]);
        if (!is_last)
          own[i * W] = sum;
        x[0] = is_last ? sum.x : 0.0F;
        x[1] = is_last ? sum.y : 0.0F;
        x[2] = is_last ? sum.z : 0.0F;
        x[3] = is_last ? sum.w : 0.0F;
      };
#pragma unroll
      for (int u = 0; u < units; u++) {
        four(2 * u, h[u][0]);
        four(2 * u + 1, h[u][1]);
      }
      four(2 * units, targets);
      four(2 * units + 1, sums);
    };

    const unsigned steps = count / 8 + (count % 8 > 0 ? 1 : 0);
    put(0);
    if (steps > 1)
      ask(1);
    for (unsigned first = 0; first < steps; first += round) {
      const unsigned behind = first + round;
      if (8 * behind < count)
        take(8 * behind);
      for (unsigned s = first; s < behind && s < steps; s++) {
        __syncthreads();
        multiply_units<P, false>(
            h, fragments, reinterpret_cast<const uint4(*)[32]>(&d.parts[s % 2][0][spot]), w, 0);
        if (s + 1 < steps)
          put(s + 1);
        if (s + 2 < steps)
          ask(s + 2);
      }
      if (steps > round)
        fold(first == 0, behind >= steps);
    }
#pragma unroll
    for (int c = 0; c < 4; c++) {
      for (int i = 1; i < 4; i *= 2) {
        targets[c] += __shfl_xor_sync(all_lanes, targets[c], i);
        if (p.biased)
          sums[c] += __shfl_xor_sync(all_lanes, sums[c], i);
      }
      if (t == 0) {
        d.targets[32 * w + 8 * (unsigned)c + g] = targets[c];
        d.sums[32 * w + 8 * (unsigned)c + g] = sums[c];
      }
    }
    const uint64_t own_row = piece->row;
    const unsigned slot = piece->slot;
    const uint64_t done = (uint64_t)(piece - p.pieces);
    const double own_squares = d.of_piece[2][row];
#pragma unroll
    for (int i = 0; i < 3; i++) {
      const double sum = sum_of_lanes(d.of_piece[i][row]);
      d.of_piece[i][row] = 0.0;
      if (lane == 0)
        d.totals[i][w] = sum;
    }
    __syncthreads();
    double totals[3] = {0.0, 0.0, 0.0};
#pragma unroll
    for (int i = 0; i < 3 * P; i++)
      totals[i / P] += d.totals[i / P][i % P];
    const unsigned coordinate = fresh(row);
    const unsigned column = column_at<W>(coordinate);
    const bool is_there = column < p.components;
    /* The next piece's first nonzeros. Their rows are asked for before this row is solved
     * backwards. */
    if (++piece < end) {
      base = (unsigned)(piece->first - p.first);
      count = piece->count;
      take(0);
    }

    if (slot != AMPED_NO_SLOT) {
      double *const to = p.slots + (uint64_t)slot * p.slot_length;
      const equation_places places = places_of(p.components, p.biased);
      for_numbers<P>(w, lane, [&](int u, int half, int e, unsigned i, unsigned j) {
        const unsigned r = column_at<W>(i);
        const unsigned c = column_at<W>(j);
        if ((i >= j || i / 16 != j / 16) && r < p.components && c < p.components)
          to[place_of_pair(r, c)] = (double)h[u][half][e];
      });
      if (is_there) {
        to[places.targets + column] = (double)d.targets[coordinate];
        if (p.biased)
          to[places.sum + column] = (double)d.sums[coordinate];
      }
      if (row == 0) {
        to[places.count] = totals[0];
        if (p.biased)
          to[places.target] = totals[1];
        to[places.squares] = totals[2];
      }
      __syncthreads();
      ask(0);
      continue;
    }
    float x = 0.0F;
    float bias = 0.0F;
    if (totals[0] > 0.0) {
      const double weight = penalty_of(p, totals[0]);
      if (p.base != nullptr)
        for_numbers<P>(w, lane, [&](int u, int half, int e, unsigned i, unsigned j) {
          const unsigned r = column_at<W>(i);
          const unsigned c = column_at<W>(j);
          if (r < p.components && c < p.components)
            h[u][half][e] += (float)__ldg(p.base + r * p.components + c);
        });
        /* The diagonal is in units (2 w, 2 w) and (2 w + 1, 2 w + 1). */
#pragma unroll
      for (int c = 0; c < 4; c++) {
        float *const two = h[c < 2 ? 0 : P][c % 2] + 2 * (c % 2);
        const float more = first_column + (unsigned)c < p.components ? (float)weight : 1.0F;
        if (t == g / 2) {
          two[0] += g % 2 == 0 ? more : 0.0F;
          two[1] += g % 2 == 1 ? more : 0.0F;
          d.least[32 * w + 8 * (unsigned)c + g] =
              (g % 2 == 0 ? two[0] : two[1]) * (2.0F * (float)W * FLT_EPSILON);
        }
      }
      const double own_target = (double)d.targets[coordinate];
      factor_wide<P, N, I>(d, h, is_there ? (float)(own_target + weight * p.prior) : 0.0F,
                           p.biased ? d.sums[coordinate] : 0.0F, w, coordinate % 32);
      ask(0);
      const float y = d.y[0][coordinate];
      const float z = d.y[1][coordinate];
      bool good = d.pivots[coordinate] * d.pivots[coordinate] * d.least[coordinate] <
                  1.0F; /* by^-2 is the pivot */
      if (p.biased) {
        float zz = z * z;
        float zy = z * y;
        for (int i = 16; i > 0; i /= 2) {
          zz += __shfl_xor_sync(all_lanes, zz, i);
          zy += __shfl_xor_sync(all_lanes, zy, i);
        }
        if (lane == 0) {
          d.products[0][w] = zz;
          d.products[1][w] = zy;
        }
        __syncthreads();
        zz = zy = 0.0F;
#pragma unroll
        for (int i = 0; i < P; i++) {
          zz += d.products[0][i];
          zy += d.products[1][i];
        }
        const float corner = (float)(totals[0] + p.reg_bias);
        const float pivot = corner - zz;
        good = good && pivot > corner * (2.0F * (float)W * FLT_EPSILON);
        bias = ((float)totals[1] - zy) / pivot;
      }
      x = solve_back<P, N, I>(d, y - bias * z, coordinate);
      good = good && fabsf(x) <= FLT_MAX && fabsf(bias) <= FLT_MAX;
      if (!__syncthreads_and(good)) {
        if (row == 0)
          p.failed[done] = 1;
        continue;
      }
      /* With M x = right, M = H + weight: the squares are tt - x g + weight (prior - x) x. */
      double squares = own_squares;
      double penalty = 0.0;
      if (is_there) {
        const double off = (double)x - p.prior;
        squares -= (double)x * (own_target + weight * off);
        penalty = weight * off * off;
      }
      if (row == 0) {
        if (p.biased)
          squares -= (double)bias * (totals[1] + p.reg_bias * (double)bias);
        penalty += p.told_bias * (double)bias * (double)bias;
        all_count += totals[0];
      }
      d.of_strip[0][coordinate] += squares;
      d.of_strip[1][coordinate] += penalty;
    } else {
      x = is_there ? (float)p.empty[column] : 0.0F;
      if (row == 0) {
        d.of_strip[0][coordinate] += p.of_empty.squares;
        d.of_strip[1][coordinate] += p.of_empty.penalty;
      }
      __syncthreads();
      ask(0);
    }
    float *const to = p.own + own_row * ld;
    if (p.biased && column == p.components)
      x = bias;
    if (column < (p.is_block ? p.components + (p.biased ? 1U : 0U) : ld))
      to[column] = x;
    if (p.biased && p.components == columns && row == 0)
      to[columns] = bias;
  }
  double all_squares = sum_of_lanes(d.of_strip[0][row]);
  double all_penalty = sum_of_lanes(d.of_strip[1][row]);
  __syncthreads();
  if (lane == 0) {
    d.totals[0][w] = all_squares;
    d.totals[1][w] = all_penalty;
  }
  __syncthreads();
  if (row == 0) {
    for (int i = 1; i < P; i++) {
      all_squares += d.totals[0][i];
      all_penalty += d.totals[1][i];
    }
    p.sums[strip] = {all_count, all_squares, all_penalty, 0};
  }
}

template <int P, int N, typename I>
amped_status launch_wide(const amped_row_kernel_cuda_args *args) {
  constexpr int bytes = (int)sizeof(wide_desk<P, N, I>);
  fit_problem<float, I> p = {};
  describe_fit(&p, args);
  if (p.strips > INT32_MAX)
    return amped_error(AMPED_FAILED, "CUDA",
                       "%" PRIu64 " thread blocks are too many for one launch; use more GPUs",
                       p.strips);
  AMPED_CUDA(cudaFuncSetAttribute(fit_wide_rows<P, N, I>,
                                  cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  fit_wide_rows<P, N, I><<<(unsigned)p.strips, 32 * P, bytes, args->stream>>>(p);
  AMPED_CUDA_LAUNCHED("the row-fit kernel");
  return AMPED_OK;
}

template <int P> amped_status launch_wide_for_order(const amped_row_kernel_cuda_args *args) {
  if (args->index_type != AMPED_U32)
    return launch_wide<P, most_inputs, index64>(args);
  switch (args->inputs) {
  case 2:
    return launch_wide<P, 2, index32>(args);
  case 3:
    return launch_wide<P, 3, index32>(args);
  case 4:
    return launch_wide<P, 4, index32>(args);
  default:
    return launch_wide<P, most_inputs, index32>(args);
  }
}

} // namespace

#endif
