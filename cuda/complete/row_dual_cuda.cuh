/* Dual row fits by one warp: a row of few nonzeros and no history has one unknown per nonzero.
 *
 * P: products of the inputs' rows, one row per nonzero. y: targets. w: penalty. The least of
 *
 *     |y - P x|^2 + w |x - prior|^2 + w_b b^2
 *
 * with a bias b in all targets is at
 *
 *     x = prior + P^T z,  b = (w / w_b) sum z,  (P P^T + w + w / w_b) z = y - P prior
 *
 * and has residuals w z. Source: Saunders, Gammerman, Vovk, "Ridge regression learning algorithm in
 * dual variables", 1998. Half as many unknowns take a third of the time.
 *
 * Shared memory holds P and the workspace in which the equations are solved. Tensor cores make
 * P P^T in three TF32 products. */
#ifndef AMPED_ROW_FEW_CUDA_CUH
#define AMPED_ROW_FEW_CUDA_CUH

#include "cuda/complete/fit_columns_cuda.cuh"
#include "cuda/complete/warp_solve_cuda.cuh"
#include "cuda/device/ptx_cuda.cuh"

namespace {

/* Nonzeros of such a row, at most. */
template <int W> constexpr unsigned most_dual = W / 2;

template <int W> struct dual_workspace {
  solve_workspace<W / 2> workspace;
  float products[most_dual<W>][W + 4];
  float row[W];
};

/* Bounds of the trace of P P^T over w. Up to the first, a solution in float is as exact as with R
 * unknowns: an error of z becomes an error of the gradient, times the trace. Each correction allows
 * a trace 30 times larger, up to the second. */
constexpr float trusted_trace = 32.0F;
constexpr float corrected_trace = 200000.0F;

/* Store the products of nonzero `number`. Each of eight lanes has gathered W / 8 products, in W /
 * 32 runs of four columns. Zeros are stored for columns after the components, and for nonzeros that
 * take no part, up to a multiple of 8. */
template <int W>
__device__ inline void keep_products(dual_workspace<W> *few, const float *products, unsigned number,
                                     bool takes_part, unsigned components, unsigned lane) {
#pragma unroll
  for (int q = 0; q < W / 32; q++) {
    const unsigned column = 32U * (unsigned)q + 4 * (lane % 8);
    float v[4];
#pragma unroll
    for (int i = 0; i < 4; i++)
      v[i] = takes_part && column + (unsigned)i < components ? products[4 * q + i] : 0.0F;
    write4(&few->products[number][column], v[0], v[1], v[2], v[3]);
  }
}

/* Put P P^T of 8 `eights` nonzeros into the workspace, with `weight` added to its diagonal and
 * of_bias to each element of two nonzeros that take part. right: the lane's element of the right
 * side. */
template <int W>
__device__ inline void put_dual(dual_workspace<W> *few, unsigned eights, float weight,
                                float of_bias, unsigned takes_part, float right, unsigned lane) {
  constexpr int D = W / 2;
  const unsigned g = lane / 4;
  const unsigned t = lane % 4;
  float k[D / 16 * (D / 16 + 1)][4] = {};
  __syncwarp();
  /* Sums over columns may take any order: in this order no two lanes use one bank. */
#pragma unroll
  for (int q = 0; q < W / 16; q++) {
    float v[D / 8][4];
#pragma unroll
    for (int e = 0; e < D / 8; e++) {
      v[e][0] = v[e][1] = v[e][2] = v[e][3] = 0.0F;
      if ((unsigned)e < eights)
        read4(&few->products[8 * e + g][8 * t + 32 * (q / 2) + 4 * (q % 2)], v[e]);
    }
#pragma unroll
    for (int i = 0; i < 4; i += 2) {
      unsigned high[D / 8][2];
      unsigned low[D / 8][2];
#pragma unroll
      for (int e = 0; e < D / 8; e++)
#pragma unroll
        for (int j = 0; j < 2; j++) {
          high[e][j] = (__float_as_uint(v[e][i + j]) + 0x1000U) & 0xffffe000U;
          low[e][j] = __float_as_uint(v[e][i + j] - __uint_as_float(high[e][j]));
        }
#pragma unroll
      for (int kind = 0; kind < 3; kind++)
#pragma unroll
        for (int m = 0; m < D / 16; m++)
#pragma unroll
          for (int n = 0; n < 2 * m + 2; n++)
            if ((unsigned)n < eights) {
              const unsigned(*const a)[2] = kind == 0 ? low : high;
              const unsigned(*const b)[2] = kind == 1 ? low : high;
              multiply_tf32(k[tile_at(m, n)], a[2 * m][0], a[2 * m + 1][0], a[2 * m][1],
                            a[2 * m + 1][1], b[n][0], b[n][1]);
            }
    }
  }
#pragma unroll
  for (int m = 0; m < D / 16; m++)
#pragma unroll
    for (int n = 0; n < 2 * m + 2; n++)
#pragma unroll
      for (int i = 0; i < 2; i++) {
        const unsigned row = 16U * m + g + 8U * i;
        const unsigned column = 8U * n + 2 * t;
        float x[2];
#pragma unroll
        for (int j = 0; j < 2; j++) {
          const unsigned both = takes_part >> row & takes_part >> (column + (unsigned)j) & 1U;
          x[j] = k[tile_at(m, n)][2 * i + j] + (both ? of_bias : 0.0F) +
                 (row == column + (unsigned)j ? weight : 0.0F);
        }
        *reinterpret_cast<float2 *>(&few->workspace.a[row][column]) = make_float2(x[0], x[1]);
      }
  if (lane < (unsigned)D)
    few->workspace.a[D][lane] = right;
  __syncwarp();
}

/* x = P^T z, with z in the workspace: the lane's columns, lane and 32 + lane of W. Returns the sum
 * of z. */
template <int W>
__device__ inline float row_of(const dual_workspace<W> *few, unsigned fours, unsigned lane,
                               float *x) {
  float all = 0.0F;
#pragma unroll
  for (int q = 0; q < W / 32; q++)
    x[q] = 0.0F;
#pragma unroll 1
  for (unsigned j = 0; j < 4 * fours; j += 4) {
    float z[4];
    read4(&few->workspace.x[j], z);
#pragma unroll
    for (unsigned i = 0; i < 4; i++) {
      all += z[i];
#pragma unroll
      for (unsigned q = 0; q < W / 32; q++)
        x[q] = fmaf(z[i], few->products[j + i][32 * q + lane], x[q]);
    }
  }
  return all;
}

/* Element `lane` of right - P x. */
template <int W>
__device__ inline float remainder_of(dual_workspace<W> *few, const float *x, float right,
                                     unsigned lane) {
#pragma unroll
  for (unsigned q = 0; q < W / 32; q++)
    few->row[32 * q + lane] = x[q];
  __syncwarp();
  const float *const products = few->products[lane % most_dual<W>];
#pragma unroll 4
  for (unsigned c = 0; c < W; c += 4) {
    float of_nonzero[4];
    float of_row[4];
    read4(products + c, of_nonzero);
    read4(few->row + c, of_row);
#pragma unroll
    for (int i = 0; i < 4; i++)
      right = fmaf(-of_nonzero[i], of_row[i], right);
  }
  return right;
}

/* Solve row `row` of the block, and store it. The row has `count` nonzeros. few->products holds
 * their products; bit i of takes_part: nonzero i takes part, `seen` in all. target: of the lane's
 * nonzero, or 0. Adds the lane's share to *squares and *penalty. Returns false, in all lanes, if
 * the equations are too near to singular. */
template <int W, typename P>
__device__ inline bool solve_dual(const P &p, dual_workspace<W> *few, unsigned count,
                                  unsigned takes_part, unsigned seen, float target, uint64_t row,
                                  bool biased, double *squares, double *penalty, unsigned lane) {
  constexpr unsigned D = most_dual<W>;
  const double weight = penalty_of(p, (double)seen);
  const double of_bias = biased ? weight / p.reg_bias : 0.0;
  const float prior = (float)p.prior;
  float right = target;
  if (prior != 0.0F) {
    float sum = 0.0F;
    __syncwarp();
    if (lane < count)
      for (unsigned c = 0; c < p.components; c++)
        sum += few->products[lane][c];
    right -= takes_part >> lane & 1U ? prior * sum : 0.0F;
  }
  put_dual<W>(few, (count + 7) / 8, (float)weight, (float)of_bias, takes_part, right, lane);
  const unsigned fours = (count + 3) / 4;
  const float trace = sum_of_lanes(lane < count ? few->workspace.a[lane][lane] : 0.0F);
  if (trace > corrected_trace * (float)weight ||
      !solve_on_workspace<(int)D>(&few->workspace, fours, lane))
    return false;
  float x[W / 32];
  float all = row_of<W>(few, fours, lane, x);
  float z = lane < D ? few->workspace.x[lane] : 0.0F;
#pragma unroll 1
  for (float trusted = trusted_trace; trace > trusted * (float)weight; trusted *= 30.0F) {
    const float rest = remainder_of<W>(few, x, right, lane) - (float)weight * z -
                       (takes_part >> lane & 1U ? (float)of_bias * all : 0.0F);
    float half = solve_with_factor<(int)D>(&few->workspace, rest, fours, lane);
    if (!solve_transposed<(int)D>(&few->workspace, &half, fours, lane))
      return false;
    __syncwarp();
    float more[W / 32];
    all += row_of<W>(few, fours, lane, more);
#pragma unroll
    for (int q = 0; q < W / 32; q++)
      x[q] += more[q];
    z += lane < D ? few->workspace.x[lane] : 0.0F;
    __syncwarp();
  }
  float *const to = p.own + row * p.ld;
#pragma unroll
  for (unsigned q = 0; q < W / 32; q++)
    if (32 * q + lane < p.components) {
      x[q] += prior;
      to[32 * q + lane] = x[q];
      const double off = (double)x[q] - p.prior;
      *penalty += weight * off * off;
    }
  if (biased && lane == 0) {
    const float bias = (float)(of_bias * (double)all);
    to[p.components] = bias;
    *penalty += p.told_bias * (double)bias * (double)bias;
  }
  const double residual = lane < count ? weight * (double)z : 0.0;
  *squares += residual * residual;
  return true;
}

/* True if rows of few nonzeros have a kernel of their own, in addition to the kernel of all
 * rows. */
template <int W> __host__ __device__ constexpr bool has_dual(bool weighs) {
  return W >= 32 && !weighs;
}

/* True if rows of few nonzeros go to this kernel. False if rows are long on average: the search for
 * short rows slows the others down by 7 %. */
template <int W> bool leaves_dual(const amped_row_kernel_cuda_args *args) {
  return args->base == nullptr && (!args->fit->biased || args->fit->reg_bias > 0.0) &&
         args->mean_nonzeros <= (double)W;
}

/* Solve and store the rows of few nonzeros, one strip per warp. Their sums are added to the
 * strip's. */
template <int W, int N, typename I, bool biased>
__global__ void __launch_bounds__(32, blocks_that_fit<W == 32 ? 32 : 12>)
    fit_dual(const fit_problem<float, I> p) {
  extern __shared__ __align__(16) unsigned char shared[];
  const unsigned lane = threadIdx.x;
  dual_workspace<W> *const few = reinterpret_cast<dual_workspace<W> *>(shared);
  const uint64_t strip = p.first_strip + blockIdx.x;
  const uint64_t first_piece = strip > 0 ? p.strip_ends[strip - 1] : 0;
  const amped_row_piece_cuda *const pieces = p.pieces + first_piece;
  const unsigned end = (unsigned)(p.strip_ends[strip] - first_piece);
  const unsigned ld = (unsigned)p.ld;
  const lane_share share = share_of<W>(lane % 8, ld);
  unsigned at = next_piece(p, pieces, 0, end, true, lane);
  if (at == end)
    return;
  double count = 0.0;
  double squares = 0.0;
  double penalty = 0.0;

  /* One nonzero per lane. Lanes after the last nonzero repeat it. */
  raw_nonzero<float, N> raw;
  unsigned held = 0;
  const auto place_of_nonzero = [&](unsigned piece) {
    const unsigned last = pieces[piece].count - 1;
    return (unsigned)(pieces[piece].first - p.first) + (lane < last ? lane : last);
  };
  const auto load = [&](unsigned k) {
    raw = load_nonzero<float, I, N>(p, k);
    held = p.held != nullptr ? __ldg(p.held + k / 32) : 0U;
  };
  unsigned k = place_of_nonzero(at);
  load(k);
  while (at < end) {
    const unsigned nonzeros = pieces[at].count;
    const uint64_t row = pieces[at].row;
    const nonzero<float, I, N> mine = decode<float, I, N>(p, raw, k);
    const unsigned takes_part =
        __ballot_sync(all_lanes, lane < nonzeros && !(held >> (k % 32) & 1U));
    const unsigned piece = at;
    at = next_piece(p, pieces, at + 1, end, true, lane);
    if (at < end) {
      k = place_of_nonzero(at);
      load(k);
    }
    float target = (mine.value - p.means[0] - p.means[1]) * p.per_scale_float;
    if constexpr (biased) {
#pragma unroll
      for (int m = 0; m < N; m++)
        if (N < most_inputs || m < (int)p.inputs)
          target -= __ldg(row_at(p.factors[m], mine.input[m], ld) + p.components);
    }
    target = takes_part >> lane & 1U ? target : 0.0F;
#pragma unroll 1
    for (unsigned j = 0; j < nonzeros; j += 8)
#pragma unroll
      for (unsigned i = 0; i < 2; i++) {
        const unsigned of_lane = j + lane / 8 + 4 * i;
        float x[W / 8];
#pragma unroll
        for (int m = 0; m < N; m++)
          if (N < most_inputs || m < (int)p.inputs) {
            const I position = __shfl_sync(all_lanes, mine.input[m], (int)of_lane);
            float v[W / 8];
            gather<W>(row_at(p.factors[m] + share.first, position, ld), share, v);
#pragma unroll
            for (int c = 0; c < W / 8; c++)
              x[c] = m == 0 ? v[c] : x[c] * v[c];
          }
        keep_products<W>(few, x, of_lane, takes_part >> of_lane & 1U, p.components, lane);
      }
    const unsigned seen = (unsigned)__popc(takes_part);
    if (seen == 0) {
      float *const to = p.own + row * p.ld;
      for (unsigned c = lane; c < p.components + (biased ? 1U : 0U); c += 32)
        to[c] = (float)p.empty[c];
      squares += lane == 0 ? p.of_empty.squares : 0.0;
      penalty += lane == 0 ? p.of_empty.penalty : 0.0;
    } else if (solve_dual<W>(p, few, nonzeros, takes_part, seen, target, row, biased, &squares,
                             &penalty, lane)) {
      count += (double)seen;
    } else if (lane == 0) {
      p.failed[first_piece + piece] = 1;
    }
    __syncwarp();
  }
  add_to_strip(p, strip, count, squares, penalty, lane);
}

template <int W, int N, typename I, bool biased>
amped_status launch_dual(const fit_problem<float, I> &p, cudaStream_t stream) {
  return launch_strips(fit_dual<W, N, I, biased>, p, (unsigned)sizeof(dual_workspace<W>), stream,
                       "the kernel of rows of few nonzeros");
}

} // namespace

#endif
