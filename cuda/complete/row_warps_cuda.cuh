/* The kernel of row fits with a warp a row, and its launch, as templates. A .cu file for each width
 * instantiates them (row_warps_16.cu, ...), so that they compile in parallel.
 *
 * Coordinates. A row of W = 16, 32 or 64 components is W / 8 blocks of 8 coordinates. Lane (g, t),
 * with g = lane / 4 and t = lane % 4, gathers its W / 8 components of two nonzeros, t and t + 4, of
 * eight. Component c of these is coordinate 8 c + g. So the registers of a gather, multiplied over
 * the inputs, are the fragments of both factors of m16n8k8: no shuffle, no shared memory.
 *
 * Sums. H is the tiles on and below the diagonal, as accumulators of the tensor cores. A product is
 * that of high parts and two of a high and a low part (3xTF32). Every 128 nonzeros accumulators are
 * added to sums in shared memory: tensor cores cut off what does not fit.
 *
 * Solution. Cholesky by panels of 8 columns, in the accumulators. Registers of a panel are
 * fragments as well, so the tiles behind a panel are updated by tensor cores. The right side, and
 * the sums of p where there is a bias, are two more rows of the matrix: they leave the loop as
 * those of the triangular system. The bias is the last row of the factor.
 *
 * A strip's pieces lie one behind another, so the nonzeros of the next piece are asked for while
 * this one is solved. Each strip leaves its sums in a place of its own: the same bits every time.
 */
#ifndef AMPED_ROW_WARPS_CUDA_CUH
#define AMPED_ROW_WARPS_CUDA_CUH

#include <cfloat>

#include "cuda/complete/fit_problem_cuda.cuh"
#include "cuda/device/ptx_cuda.cuh"

namespace {

#ifndef FIT_BLOCKS
#define FIT_BLOCKS 4
#define FIT_STEPS 1
#endif
constexpr int fit_warps = 4; /* of a thread block */
constexpr unsigned fold_nonzeros = 128;

template <int W> struct fit_shape {
  static constexpr int blocks = W / 8;
  static constexpr int halves = W / 16;
  static constexpr int tiles = halves * (halves + 1);
  static constexpr int numbers = 4 * tiles + 2 * blocks; /* of a lane: H, targets, sums of p */
};

/* The tile of rows 16 m and columns 8 n on. */
__device__ constexpr int tile_at(int m, int n) {
  return m * (m + 1) + n;
}

/* The column of a lane's component c. */
template <int W> __device__ inline unsigned column_of(int c, unsigned g) {
  return W == 16 ? 2 * g + (unsigned)c : (unsigned)c / 4 * 32 + 4 * g + (unsigned)c % 4;
}
/* The column of coordinate i. */
template <int W> __device__ inline unsigned column_at(unsigned i) {
  return column_of<W>((int)(i / 8), i % 8);
}

struct split_number {
  unsigned high, low;
};
/* high has the 10 bits that tensor cores read, rounded; low is the rest. */
__device__ inline split_number split_of(float x) {
  const unsigned high = (__float_as_uint(x) + 0x1000U) & 0xffffe000U;
  return {high, __float_as_uint(x - __uint_as_float(high))};
}

/* c += a b in three products. */
__device__ inline void multiply_split(float *c, split_number a0, split_number a1, split_number a2,
                                      split_number a3, split_number b0, split_number b1) {
  multiply_tf32(c, a0.low, a1.low, a2.low, a3.low, b0.high, b1.high);
  multiply_tf32(c, a0.high, a1.high, a2.high, a3.high, b0.low, b1.low);
  multiply_tf32(c, a0.high, a1.high, a2.high, a3.high, b0.high, b1.high);
}

/* H += p p^T of eight nonzeros, in three products. Those of one kind follow each other, so that no
 * product waits for the one before. */
template <int W>
__device__ inline void add_products(float (*h)[4], const split_number (*parts)[W / 8]) {
#pragma unroll
  for (int kind = 0; kind < 3; kind++)
#pragma unroll
    for (int m = 0; m < W / 16; m++) {
      unsigned a[4];
#pragma unroll
      for (int i = 0; i < 4; i++) {
        const split_number x = parts[i / 2][2 * m + i % 2];
        a[i] = kind == 0 ? x.low : x.high;
      }
#pragma unroll
      for (int n = 0; n < 2 * m + 2; n++) {
        const split_number x = parts[0][n];
        const split_number y = parts[1][n];
        multiply_tf32(h[tile_at(m, n)], a[0], a[1], a[2], a[3], kind == 1 ? x.low : x.high,
                      kind == 1 ? y.low : y.high);
      }
    }
}

/* The equations of a piece, as lanes hold them. targets and sums: of component c, the same in all
 * lanes of one g. count, target and squares are whole in lane 0 .. 31 after add_lanes. */
template <int W> struct warp_equations {
  float h[fit_shape<W>::tiles][4];
  float targets[fit_shape<W>::blocks];
  float sums[fit_shape<W>::blocks];
  double count, target, squares;
};

/* Panel k of Cholesky: 8 columns. e has the two more rows; pivots[k] becomes, in lanes of g, one
 * over element g of the factor's diagonal. */
template <int W, int k>
__device__ inline void factor_panel(float (*h)[4], float (*e)[2], float *pivots, unsigned lane) {
  constexpr int blocks = fit_shape<W>::blocks;
  const unsigned g = lane / 4;
  const unsigned t = lane % 4;
  float v[blocks + 1][2]; /* the panel's rows from block k on; last, the two more */
#pragma unroll
  for (int b = k; b < blocks; b++) {
    v[b][0] = h[tile_at(b / 2, k)][2 * (b % 2)];
    v[b][1] = h[tile_at(b / 2, k)][2 * (b % 2) + 1];
  }
  v[blocks][0] = e[k][0];
  v[blocks][1] = e[k][1];
#pragma unroll
  for (int j = 0; j < 8; j++) {
    const float by = rsqrtf(__shfl_sync(all_lanes, v[k][j % 2], j * 4 + j / 2));
    if (g == (unsigned)j)
      pivots[k] = by;
    float own = __shfl_sync(all_lanes, v[k][j % 2], (int)(lane & ~3U) | j / 2) * by;
    float right[2];
    right[0] = __shfl_sync(all_lanes, own, (int)(8 * t));
    right[1] = __shfl_sync(all_lanes, own, (int)(8 * t + 4));
    right[0] = 2 * t > (unsigned)j ? right[0] : 0.0F;
    right[1] = 2 * t + 1 > (unsigned)j ? right[1] : 0.0F;
#pragma unroll
    for (int b = k; b <= blocks; b++) {
      if (b > k)
        own = __shfl_sync(all_lanes, v[b][j % 2], (int)(lane & ~3U) | j / 2) * by;
      if (t == (unsigned)j / 2)
        v[b][j % 2] = own;
      v[b][0] = fmaf(-own, right[0], v[b][0]);
      v[b][1] = fmaf(-own, right[1], v[b][1]);
    }
  }
#pragma unroll
  for (int b = k; b < blocks; b++) {
    h[tile_at(b / 2, k)][2 * (b % 2)] = v[b][0];
    h[tile_at(b / 2, k)][2 * (b % 2) + 1] = v[b][1];
  }
  e[k][0] = v[blocks][0];
  e[k][1] = v[blocks][1];
  /* The tiles behind the panel. */
  if constexpr (k + 1 < blocks) {
    split_number minus[blocks + 1][2];
    const split_number none = {0U, 0U};
#pragma unroll
    for (int b = k; b <= blocks; b++)
      for (int i = 0; i < 2; i++)
        minus[b][i] = split_of(-v[b][i]);
    const auto plus = [&](int b, int i) {
      return split_number{minus[b][i].high ^ 0x80000000U, minus[b][i].low ^ 0x80000000U};
    };
#pragma unroll
    for (int n = k + 1; n < blocks; n++) {
#pragma unroll
      for (int m = n / 2; m < blocks / 2; m++) {
        multiply_split(h[tile_at(m, n)], minus[2 * m][0], minus[2 * m + 1][0], minus[2 * m][1],
                       minus[2 * m + 1][1], plus(n, 0), plus(n, 1));
      }
      float more[4] = {e[n][0], e[n][1], 0.0F, 0.0F};
      multiply_split(more, minus[blocks][0], none, minus[blocks][1], none, plus(n, 0), plus(n, 1));
      e[n][0] = more[0];
      e[n][1] = more[1];
    }
  }
}

template <int W, int k>
__device__ inline void factor_panels(float (*h)[4], float (*e)[2], float *pivots, unsigned lane) {
  factor_panel<W, k>(h, e, pivots, lane);
  if constexpr (k + 1 < fit_shape<W>::blocks)
    factor_panels<W, k + 1>(h, e, pivots, lane);
}

/* x[c] becomes, in all lanes of one g, coordinate 8 c + g of the solution; *bias the last unknown.
 * diagonal[c] is added to H's diagonal, right[c] the right side, both in all lanes of one g. Where
 * a pivot is too small to be trusted the result is false, in all lanes. */
template <int W>
__device__ inline bool solve_in_warp(float (*h)[4], const float *diagonal, const float *right,
                                     const float *sums, bool biased, float corner, float target,
                                     float *x, float *bias, unsigned lane) {
  constexpr int blocks = fit_shape<W>::blocks;
  const unsigned g = lane / 4;
  const unsigned t = lane % 4;
  float e[blocks][2];
  float pivots[blocks];
  float least[blocks];
  bool good = true;
#pragma unroll
  for (int b = 0; b < blocks; b++) {
    /* row g of the diagonal block has its diagonal in lane t = g / 2 */
    float *const two = h[tile_at(b / 2, b)] + 2 * (b % 2);
    const bool is_here = t == g / 2;
    if (is_here && g % 2 == 0)
      two[0] += diagonal[b];
    if (is_here && g % 2 == 1)
      two[1] += diagonal[b];
    least[b] = __shfl_sync(all_lanes, g % 2 == 0 ? two[0] : two[1], (int)(4 * g + g / 2)) *
               (2.0F * (float)W * FLT_EPSILON);
#pragma unroll
    for (int i = 0; i < 2; i++) {
      const float of_right = __shfl_sync(all_lanes, right[b], (int)(8 * t) + 4 * i);
      const float of_sums = biased ? __shfl_sync(all_lanes, sums[b], (int)(8 * t) + 4 * i) : 0.0F;
      e[b][i] = g == 0 ? of_right : g == 1 ? of_sums : 0.0F;
    }
  }
  factor_panels<W, 0>(h, e, pivots, lane);
#pragma unroll
  for (int b = 0; b < blocks; b++) /* pivots[b]^-2 is the pivot */
    good = good && pivots[b] * pivots[b] * least[b] < 1.0F;
  *bias = 0.0F;
  if (biased) {
    float zz = 0.0F;
    float zy = 0.0F;
#pragma unroll
    for (int b = 0; b < blocks; b++)
#pragma unroll
      for (int i = 0; i < 2; i++) {
        const float y = __shfl_sync(all_lanes, e[b][i], (int)t);
        const float z = __shfl_sync(all_lanes, e[b][i], (int)t + 4);
        zz = fmaf(z, z, zz);
        zy = fmaf(z, y, zy);
      }
    for (int i = 1; i < 4; i *= 2) {
      zz += __shfl_xor_sync(all_lanes, zz, i);
      zy += __shfl_xor_sync(all_lanes, zy, i);
    }
    const float pivot = corner - zz;
    good = good && pivot > corner * (2.0F * (float)W * FLT_EPSILON);
    *bias = (target - zy) / pivot;
  }
  /* Back, panel after panel. */
#pragma unroll
  for (int k = blocks - 1; k >= 0; k--) {
    float rest[2] = {0.0F, 0.0F};
#pragma unroll
    for (int b = k + 1; b < blocks; b++) {
      rest[0] = fmaf(h[tile_at(b / 2, k)][2 * (b % 2)], x[b], rest[0]);
      rest[1] = fmaf(h[tile_at(b / 2, k)][2 * (b % 2) + 1], x[b], rest[1]);
    }
    const float *const two = h[tile_at(k / 2, k)] + 2 * (k % 2);
#pragma unroll
    for (int i = 0; i < 2; i++) {
      if (k + 1 < blocks)
        for (int lanes = 4; lanes < 32; lanes *= 2)
          rest[i] += __shfl_xor_sync(all_lanes, rest[i], lanes);
      const float y = __shfl_sync(all_lanes, e[k][i], (int)t);
      const float z = biased ? __shfl_sync(all_lanes, e[k][i], (int)t + 4) : 0.0F;
      rest[i] = y - *bias * z - rest[i];
    }
    x[k] = 0.0F;
#pragma unroll
    for (int j = 7; j >= 0; j--) {
      const float by = __shfl_sync(all_lanes, pivots[k], 4 * j);
      const float here = __shfl_sync(all_lanes, rest[j % 2], j / 2) * by;
      if (g == (unsigned)j)
        x[k] = here;
      rest[0] = fmaf(-here, __shfl_sync(all_lanes, two[0], (int)(4 * j + t)), rest[0]);
      rest[1] = fmaf(-here, __shfl_sync(all_lanes, two[1], (int)(4 * j + t)), rest[1]);
    }
  }
#pragma unroll
  for (int b = 0; b < blocks; b++)
    good = good && fabsf(x[b]) <= FLT_MAX;
  good = good && fabsf(*bias) <= FLT_MAX;
  return __all_sync(all_lanes, good);
}

/* Add the sums over all cells, of n components, to H. */
template <int W>
__device__ inline void add_base(const double *base, unsigned n, float (*h)[4], unsigned lane) {
#pragma unroll
  for (int m = 0; m < fit_shape<W>::halves; m++)
#pragma unroll
    for (int b = 0; b < 2 * m + 2; b++)
#pragma unroll
      for (int i = 0; i < 4; i++) {
        const unsigned r = column_at<W>(16U * m + lane / 4 + 8U * (i / 2));
        const unsigned c = column_at<W>(8U * b + 2 * (lane % 4) + i % 2);
        if (r < n && c < n)
          h[tile_at(m, b)][i] += (float)__ldg(base + r * n + c);
      }
}

/* Write a piece's sums to its slot, as equations travel. */
template <int W>
__device__ inline void store_slot(double *slot, const warp_equations<W> &q, unsigned n, bool biased,
                                  unsigned lane) {
  constexpr int blocks = fit_shape<W>::blocks;
  const unsigned g = lane / 4;
  const unsigned t = lane % 4;
  const equation_places at = places_of(n, biased);
#pragma unroll
  for (int m = 0; m < blocks / 2; m++)
#pragma unroll
    for (int b = 0; b < 2 * m + 2; b++)
#pragma unroll
      for (int i = 0; i < 4; i++) {
        const unsigned row = 16U * m + g + 8U * (i / 2);
        const unsigned column = 8U * b + 2 * t + i % 2;
        const unsigned r = column_at<W>(row);
        const unsigned c = column_at<W>(column);
        if (row >= column && r < n && c < n)
          slot[place_of_pair(r, c)] = (double)q.h[tile_at(m, b)][i];
      }
#pragma unroll
  for (int c = 0; c < blocks; c++) {
    const unsigned column = column_of<W>(c, g);
    if (t == 0 && column < n) {
      slot[at.targets + column] = (double)q.targets[c];
      if (biased)
        slot[at.sum + column] = (double)q.sums[c];
    }
  }
  if (lane == 0) {
    slot[at.count] = q.count;
    if (biased)
      slot[at.target] = q.target;
    slot[at.squares] = q.squares;
  }
}

/* Where a lane's share of a row of ld floats begins, W / 8 floats in one or two runs. Runs that lie
 * behind the row's end are moved to its last floats: they are read, and not used. */
struct lane_share {
  unsigned first, second;
};
template <int W> __device__ inline lane_share share_of(unsigned g, unsigned ld) {
  constexpr unsigned run = W == 16 ? 2 : 4;
  const unsigned first = run * g < ld ? run * g : ld - run;
  return {first, W == 64 && 32 + run * g < ld ? 32 + run * g : ld - run};
}

__device__ inline const float *row_at(const float *factor, index32 row, unsigned ld) {
  return row_address(factor, row, ld * (unsigned)sizeof(float));
}
__device__ inline const float *row_at(const float *factor, index64 row, unsigned ld) {
  return factor + row * ld;
}

/* A lane's share of a factor's row. `from` is the share's begin in the row. */
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

/* The thread blocks that shall fit on a multiprocessor, by registers. */
template <int W, int N> struct fit_tuning {
  static constexpr int blocks = W == 64 ? 2 : N <= 3 ? FIT_BLOCKS : 3;
  static constexpr int steps = W == 64 || N > 3 ? 1 : FIT_STEPS; /* asked for ahead */
};

/* N is the number of inputs, or most_inputs, which stands for any. */
template <int W, int N, typename I>
__global__ void __launch_bounds__(32 * fit_warps, fit_tuning<W, N>::blocks)
    fit_rows(const fit_problem<float, I> p) {
  constexpr int blocks = fit_shape<W>::blocks;
  constexpr int tiles = fit_shape<W>::tiles;
  constexpr int steps = fit_tuning<W, N>::steps;
  constexpr int held_inputs = N < most_inputs ? N : 1; /* more are multiplied as they come */
  __shared__ float folds[fit_warps][fit_shape<W>::numbers][32];
  const unsigned lane = threadIdx.x % 32;
  const unsigned g = lane / 4;
  const unsigned t = lane % 4;
  float(*const fold)[32] = folds[threadIdx.x / 32];
  const uint64_t number = (uint64_t)blockIdx.x * fit_warps + threadIdx.x / 32;
  if (number >= p.strips)
    return;
  const uint64_t strip = p.first_strip + number;
  const uint64_t end = p.strip_ends[strip];
  const unsigned ld = (unsigned)p.ld;
  const lane_share share = share_of<W>(g, ld);
  const bool masks = p.components < (unsigned)W;
  const bool weighs = p.weights != nullptr || p.implicit > 0.0;
  uint64_t at = strip > 0 ? p.strip_ends[strip - 1] : 0;
  amped_row_piece_cuda piece = p.pieces[at];
  const unsigned last = (unsigned)(p.pieces[end - 1].first - p.first) + p.pieces[end - 1].count - 1;
  double all_count = 0.0;
  double all_squares = 0.0;
  double all_penalty = 0.0;

  /* The batch behind those taken: up to 32 nonzeros of a piece, one a lane, as they lie in memory. */
  const auto place = [&](unsigned k) { return k < last ? k : last; };
  unsigned k = 0;
  raw_nonzero<float, N> raw;
  unsigned held = 0;
  const auto load = [&](unsigned first) {
    k = place(first + lane);
    raw = load_nonzero<float, I, N>(p, k);
    held = p.held != nullptr ? __ldg(p.held + k / 32) : 0U;
  };

  /* The batch taken last. alive: those that take part. */
  nonzero<float, I, N> mine;
  float others[N];
  float weight_of_mine = 1.0F;
  unsigned alive = 0;
  /* Nonzeros j .. j + 32 of the piece at base, of count; then load those behind. Waits for the load
   * before alone. */
  const auto take = [&](unsigned base, unsigned count, unsigned j) {
    mine = decode<float, I, N>(p, raw, k);
    alive = __ballot_sync(all_lanes, j + lane < count && !(held >> (k % 32) & 1U));
    if (p.biased)
#pragma unroll
      for (int m = 0; m < N; m++)
        if (N < most_inputs || m < (int)p.inputs)
          others[m] = __ldg(row_at(p.factors[m], mine.input[m], ld) + p.components);
    if (p.weights != nullptr)
      weight_of_mine = __ldg(p.weights + k);
    load(base + (j + 32 < count ? j + 32 : count));
  };

  /* The rows of nonzeros t and t + 4 of eight, for each of the steps ahead, and which of the eight
   * take part. */
  float rows[steps][2][held_inputs][blocks];
  unsigned asked[steps];
  const auto ask = [&](unsigned j, int s) {
    asked[s] = alive >> (j % 32) & 0xffU;
#pragma unroll
    for (int i = 0; i < 2; i++)
#pragma unroll
      for (int m = 0; m < N; m++)
        if (N < most_inputs || m < (int)p.inputs) {
          const I position = __shfl_sync(all_lanes, mine.input[m], (int)(j % 32 + t) + 4 * i);
          float v[blocks];
          gather<W>(row_at(p.factors[m] + share.first, position, ld), share, v);
#pragma unroll
          for (int c = 0; c < blocks; c++)
            rows[s][i][N < most_inputs ? m : 0][c] =
                N < most_inputs || m == 0 ? v[c] : rows[s][i][0][c] * v[c];
        }
  };

  load((unsigned)(piece.first - p.first));
  take((unsigned)(piece.first - p.first), piece.count, 0);
#pragma unroll
  for (int s = 0; s < steps; s++)
    ask(8 * (unsigned)s, s);
  for (; at < end;) {
    const unsigned base = (unsigned)(piece.first - p.first);
    const unsigned count = piece.count;
    const uint64_t row = piece.row;
    const unsigned slot = piece.slot;
    const bool is_last = at + 1 == end;
    const uint64_t done = at++;
    if (!is_last)
      piece = p.pieces[at];
    warp_equations<W> q;
#pragma unroll
    for (int i = 0; i < tiles; i++)
#pragma unroll
      for (int j = 0; j < 4; j++)
        q.h[i][j] = 0.0F;
#pragma unroll
    for (int c = 0; c < blocks; c++)
      q.targets[c] = q.sums[c] = 0.0F;
    q.count = q.target = q.squares = 0.0;
    float target = 0.0F; /* of the batch in hand */
    float root = 0.0F;   /* of its weight */
    for (unsigned j = 0; j < count; j += 8 * steps) {
      if (j % 32 == 0) {
        const bool on = alive >> lane & 1U;
        double y = ((double)mine.value - p.mean) * p.per_scale;
        if (p.biased) {
          float sum = 0.0F;
#pragma unroll
          for (int m = 0; m < N; m++)
            if (N < most_inputs || m < (int)p.inputs)
              sum += others[m];
          y -= (double)sum;
        }
        if (weighs) {
          const fit_term of =
              on ? term_of_weight(p, y, (double)weight_of_mine) : fit_term{0.0, 0.0, 0.0, 0.0};
          target = (float)of.target;
          root = (float)sqrt(of.weight);
          q.count += of.count;
          q.target += of.target;
          q.squares += of.square;
        } else {
          target = on ? (float)y : 0.0F;
          q.count += (double)__popc(alive); /* in all lanes */
          q.target += (double)target;
          q.squares += (double)target * (double)target;
        }
      }
      /* What comes behind these steps: later ones of the piece, or the first ones of the next. */
      const bool has_more = j + 8 * steps < count;
      const unsigned behind = has_more ? j + 8 * steps : 0;
      const bool asks = has_more || !is_last;
#pragma unroll
      for (int s = 0; s < steps; s++) {
        const unsigned step = j + 8 * (unsigned)s;
        float products[2][blocks];
        float targets[2];
        float roots[2];
#pragma unroll
        for (int i = 0; i < 2; i++) {
          targets[i] = __shfl_sync(all_lanes, target, (int)(step % 32 + t) + 4 * i);
          roots[i] =
              weighs ? __shfl_sync(all_lanes, root, (int)(step % 32 + t) + 4 * i) : 1.0F;
#pragma unroll
          for (int c = 0; c < blocks; c++) {
            products[i][c] = rows[s][i][0][c];
#pragma unroll
            for (int m = 1; m < held_inputs; m++)
              products[i][c] *= rows[s][i][m][c];
          }
        }
        if (masks || asked[s] != 0xffU) {
#pragma unroll
          for (int i = 0; i < 2; i++) {
            const bool on = asked[s] >> (t + 4U * (unsigned)i) & 1U;
#pragma unroll
            for (int c = 0; c < blocks; c++)
              products[i][c] = on && column_of<W>(c, g) < p.components ? products[i][c] : 0.0F;
          }
        }
        const bool is_empty = s > 0 && asked[s] == 0;
        if (asks) {
          if (s == 0 && behind % 32 == 0)
            take((unsigned)(has_more ? base : (unsigned)(piece.first - p.first)),
                 has_more ? count : piece.count, behind);
          ask(behind + 8 * (unsigned)s, s);
        }
        if (is_empty)
          continue;
#pragma unroll
        for (int c = 0; c < blocks; c++) {
          q.targets[c] = fmaf(targets[0], products[0][c], q.targets[c]);
          q.targets[c] = fmaf(targets[1], products[1][c], q.targets[c]);
        }
        if (weighs) {
#pragma unroll
          for (int c = 0; c < blocks; c++) {
            products[0][c] *= roots[0];
            products[1][c] *= roots[1];
          }
        }
        if (p.biased) { /* roots are 1 without weights */
#pragma unroll
          for (int c = 0; c < blocks; c++)
            q.sums[c] = fmaf(roots[0], products[0][c], fmaf(roots[1], products[1][c], q.sums[c]));
        }
        split_number parts[2][blocks];
#pragma unroll
        for (int i = 0; i < 2; i++)
#pragma unroll
          for (int c = 0; c < blocks; c++)
            parts[i][c] = split_of(products[i][c]);
        add_products<W>(q.h, parts);
      }
      const unsigned behind_them = j + 8 * steps;
      if (behind_them % fold_nonzeros == 0 || (behind_them >= count && count > fold_nonzeros)) {
        const bool is_first_fold = behind_them == fold_nonzeros;
        const bool is_last_fold = behind_them >= count;
        const auto fold_in = [&](int i, float &x) {
          const float sum = is_first_fold ? x : fold[i][lane] + x;
          fold[i][lane] = sum;
          x = is_last_fold ? sum : 0.0F;
        };
#pragma unroll
        for (int i = 0; i < tiles; i++)
#pragma unroll
          for (int u = 0; u < 4; u++)
            fold_in(4 * i + u, q.h[i][u]);
#pragma unroll
        for (int c = 0; c < blocks; c++) {
          fold_in(4 * tiles + c, q.targets[c]);
          fold_in(4 * tiles + blocks + c, q.sums[c]);
        }
      }
    }
#pragma unroll
    for (int c = 0; c < blocks; c++)
      for (int i = 1; i < 4; i *= 2) {
        q.targets[c] += __shfl_xor_sync(all_lanes, q.targets[c], i);
        if (p.biased)
          q.sums[c] += __shfl_xor_sync(all_lanes, q.sums[c], i);
      }
    const double own_squares = q.squares;
    if (weighs)
      q.count = sum_of_lanes(q.count);
    if (p.biased)
      q.target = sum_of_lanes(q.target);
    if (slot != AMPED_NO_SLOT) {
      q.squares = sum_of_lanes(q.squares);
      store_slot<W>(p.slots + (uint64_t)slot * p.slot_length, q, p.components, p.biased, lane);
      continue;
    }
    const double weight = penalty_of(p, q.count);
    float x[blocks];
    float bias = 0.0F;
    if (q.count > 0.0) {
      if (p.base != nullptr)
        add_base<W>(p.base, p.components, q.h, lane);
      float diagonal[blocks];
      float right[blocks];
#pragma unroll
      for (int c = 0; c < blocks; c++) {
        const bool is_there = column_of<W>(c, g) < p.components;
        diagonal[c] = is_there ? (float)weight : 1.0F;
        right[c] = is_there ? (float)((double)q.targets[c] + weight * p.prior) : 0.0F;
      }
      if (!solve_in_warp<W>(q.h, diagonal, right, q.sums, p.biased, (float)(q.count + p.reg_bias),
                            (float)q.target, x, &bias, lane)) {
        if (lane == 0)
          p.failed[done] = 1;
        continue;
      }
      /* With M x = right, M = H + weight: the squares are tt - x g + weight (prior - x) x. */
      double squares = 0.0;
      double penalty = 0.0;
#pragma unroll
      for (int c = 0; c < blocks; c++)
        if (t == 0 && column_of<W>(c, g) < p.components) {
          const double off = (double)x[c] - p.prior;
          squares -= (double)x[c] * ((double)q.targets[c] + weight * off);
          penalty += off * off;
        }
      if (lane == 0 && p.biased)
        squares -= (double)bias * (q.target + p.reg_bias * (double)bias);
      all_squares += own_squares + squares;
      all_penalty += weight * penalty;
      if (lane == 0) {
        all_penalty += p.told_bias * (double)bias * (double)bias;
        all_count += q.count;
      }
    } else {
#pragma unroll
      for (int c = 0; c < blocks; c++)
        x[c] = column_of<W>(c, g) < p.components ? (float)p.empty[column_of<W>(c, g)] : 0.0F;
      if (lane == 0) {
        all_squares += p.of_empty.squares;
        all_penalty += p.of_empty.penalty;
      }
    }
    float *const to = p.own + row * ld;
#pragma unroll
    for (int c = 0; c < blocks; c++)
      if (p.biased && column_of<W>(c, g) == p.components)
        x[c] = bias;
    if (t == 0 && p.is_block) {
#pragma unroll
      for (int c = 0; c < blocks; c++)
        if (column_of<W>(c, g) < p.components + (p.biased ? 1U : 0U))
          to[column_of<W>(c, g)] = x[c];
    } else if (t == 0) {
      if constexpr (W == 16) {
        if (2 * g < ld)
          reinterpret_cast<float2 *>(to)[g] = make_float2(x[0], x[1]);
      } else {
#pragma unroll
        for (int i = 0; i < W / 32; i++)
          if (32 * i + 4 * g < ld)
            reinterpret_cast<float4 *>(to)[8 * i + g] =
                make_float4(x[4 * i], x[4 * i + 1], x[4 * i + 2], x[4 * i + 3]);
      }
    }
    if (p.biased && p.components == (unsigned)W && lane == 0)
      to[W] = bias;
  }
  all_squares = sum_of_lanes(all_squares);
  all_penalty = sum_of_lanes(all_penalty);
  if (lane == 0)
    p.sums[strip] = {all_count, all_squares, all_penalty, 0};
}

template <int W, int N, typename I>
amped_status launch_warps(const amped_row_kernel_cuda_args *args) {
  fit_problem<float, I> p = {};
  describe_fit(&p, args);
  const uint64_t count = amped_ceil_div(p.strips, (uint64_t)fit_warps);
  if (count > INT32_MAX)
    return amped_error(AMPED_FAILED, "CUDA",
                       "%" PRIu64 " thread blocks are too many for one launch; use more GPUs",
                       count);
  fit_rows<W, N, I><<<(unsigned)count, 32 * fit_warps, 0, args->stream>>>(p);
  AMPED_CUDA_LAUNCHED("the row-fit kernel");
  return AMPED_OK;
}

template <int W> amped_status launch_warps_for_order(const amped_row_kernel_cuda_args *args) {
  if (args->index_type != AMPED_U32)
    return launch_warps<W, most_inputs, index64>(args);
  switch (args->inputs) {
  case 2:
    return launch_warps<W, 2, index32>(args);
  case 3:
    return launch_warps<W, 3, index32>(args);
  case 4:
    return launch_warps<W, 4, index32>(args);
  default:
    return launch_warps<W, most_inputs, index32>(args);
  }
}

} // namespace

#endif
