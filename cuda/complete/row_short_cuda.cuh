/* Row fits by one warp for rows of few nonzeros that have a history, of up to W = 16 or 32
 * components.
 *
 * The equations of such a row are its history and a product or two. The solution therefore takes
 * nearly all of the time, and instructions are its limit. Each lane has a row of the matrix in
 * registers. L D L^T goes column by column: a column goes to shared memory, and every lane reads
 * from it what to subtract from its later elements. Elements right of the diagonal are undefined,
 * and are not used. The right side and, with a bias, the sums of p are eliminated on the way; the
 * bias is the last unknown.
 *
 * The next row's history is loaded into shared memory while the current row is solved. */
#ifndef AMPED_ROW_KNOWN_CUDA_CUH
#define AMPED_ROW_KNOWN_CUDA_CUH

#include "cuda/complete/fit_columns_cuda.cuh"
#include "cuda/complete/row_history_cuda.cuh"
#include "cuda/complete/warp_solve_cuda.cuh"
#include "cuda/device/ptx_cuda.cuh"

namespace {

/* Nonzeros of such a row, at most. */
constexpr unsigned most_short = 8;

template <int W> struct short_workspace {
  float columns[W][36];             /* row j: column j of L D, one element per lane */
  float history[history_floats<W>]; /* history */
  float one[64];                    /* 1 in the middle, else 0 */
  float right[W];                   /* y, of L y = right side */
  float sums[W];                    /* the same for the sums of p */
  float x[W];
  float product[32]; /* products of the inputs' rows at a nonzero */
};

/* A lane's row of the equations. */
template <int W> struct short_row {
  float a[W];                    /* row of the matrix */
  float diagonal;                /* its diagonal element, before the factorization */
  float right, sum;              /* right side, and sum of p */
  double target, count, squares; /* the same in all lanes */
};

/* Factor the first n columns, with one row per lane, and eliminate the right side and the sums of
 * p. Both are then in the workspace. */
template <int W, bool biased>
__device__ inline void factor_short(short_workspace<W> *workspace, short_row<W> *q, unsigned n,
                                    unsigned lane) {
  float *const a = q->a;
  float y[4] = {};
  float z[4] = {};
#pragma unroll
  for (int j = 0; j < W; j++) {
    if ((unsigned)(j / 4 * 4) >= n)
      continue;
    float *const column = workspace->columns[j];
    column[lane] = a[j];
    __syncwarp();
    float of_others[W];
#pragma unroll
    for (int k = j / 4 * 4; k < W; k += 4)
      read4(column + k, of_others + k);
    const float factor = -a[j] * reciprocal(of_others[j]);
#pragma unroll
    for (int k = j + 1; k < W; k++)
      a[k] = fmaf(factor, of_others[k], a[k]);
    y[j % 4] = __shfl_sync(all_lanes, q->right, j);
    q->right = fmaf(factor, y[j % 4], q->right);
    if (biased) {
      z[j % 4] = __shfl_sync(all_lanes, q->sum, j);
      q->sum = fmaf(factor, z[j % 4], q->sum);
    }
    if (j % 4 == 3 && lane == 0) {
      write4(workspace->right + j - 3, y[0], y[1], y[2], y[3]);
      if (biased)
        write4(workspace->sums + j - 3, z[0], z[1], z[2], z[3]);
    }
  }
  __syncwarp();
}

/* Solve the equations of n components. x is in the workspace, and *bias is the last unknown.
 * corner, q->target: diagonal element and right side of the bias's equation. Returns false, in all
 * lanes, if a pivot is too small to be trusted. */
template <int W, bool biased>
__device__ inline bool solve_short(short_workspace<W> *workspace, short_row<W> *q, float corner,
                                   float *bias, unsigned n, unsigned lane) {
  constexpr float least = 2.0F * (float)W * FLT_EPSILON; /* least pivot, relative to its diagonal
                                                            element */
  factor_short<W, biased>(workspace, q, n, lane);
  const bool is_there = lane < n;
  const float pivot = workspace->columns[lane % W][lane];
  const float inverse = is_there ? reciprocal(pivot) : 0.0F;
  bool good = !is_there || pivot > q->diagonal * least;
  float rest = is_there ? workspace->right[lane] : 0.0F;
  *bias = 0.0F;
  if (biased) {
    const float z = is_there ? workspace->sums[lane] : 0.0F;
    const float of_bias = corner - sum_of_lanes(z * z * inverse);
    good = good && of_bias > corner * least;
    *bias = ((float)q->target - sum_of_lanes(z * rest * inverse)) / of_bias;
    rest = fmaf(-*bias, z, rest);
  }
  float below[W]; /* the lane's column */
#pragma unroll
  for (int i = 0; i < W; i += 4)
    read4(workspace->columns[lane % W] + i, below + i);
  float x[4] = {};
#pragma unroll
  for (int i = W - 1; i >= 0; i--) {
    if ((unsigned)(i / 4 * 4) >= n)
      continue;
    x[i % 4] = __shfl_sync(all_lanes, rest * inverse, i);
    rest = fmaf(-below[i], x[i % 4], rest);
    if (i % 4 == 0 && lane == 0)
      write4(workspace->x + i, x[0], x[1], x[2], x[3]);
  }
  __syncwarp();
  good = good && (!is_there || fabsf(workspace->x[lane]) <= FLT_MAX) && fabsf(*bias) <= FLT_MAX;
  return __all_sync(all_lanes, good);
}

/* Set the lane's row to the history, times `keep`, with `weight` added to the diagonal. */
template <int W, bool biased>
__device__ inline void begin_short(short_workspace<W> *workspace, float *history, double keep,
                                   unsigned n, unsigned length, float weight, short_row<W> *q,
                                   unsigned lane) {
  const equation_places at = places_of(n, biased);
  if (keep != 1.0) { /* also if keep is 0: the history is all zeros then */
    const float by = (float)keep;
    __syncwarp(); /* all lanes have read the count */
#pragma unroll 1
    for (unsigned k = lane; k < length; k += 32)
      history[k] *= by;
    __syncwarp();
  }
  const bool is_there = lane < n;
  float *const own = is_there ? history + place_of_pair(lane, 0) : workspace->one + 32 - lane;
  if (is_there)
    own[lane] += weight;
  __syncwarp();
#pragma unroll
  for (int j = 0; j < W; j++)
    q->a[j] = own[j];
  q->diagonal = own[lane];
  q->right = is_there ? history[at.targets + lane] : 0.0F;
  q->sum = biased && is_there ? history[at.sum + lane] : 0.0F;
  q->target = biased ? (double)history[at.target] : 0.0;
  q->squares = (double)history[at.squares];
}

/* Add lane of_lane's nonzero to the equations: the products of its rows, and its target. */
template <int W, int N, typename I, bool biased>
__device__ __forceinline__ void
add_short(const fit_problem<float, I> &p, short_workspace<W> *workspace,
          const nonzero<float, I, N> &mine, float target, int of_lane, unsigned column, unsigned ld,
          unsigned n, short_row<W> *q, unsigned lane) {
  float x = 1.0F;
#pragma unroll
  for (int m = 0; m < N; m++)
    if (N < most_inputs || m < (int)p.inputs) {
      const I position = __shfl_sync(all_lanes, mine.input[m], of_lane);
      const float v = __ldg(row_at(p.factors[m], position, ld) + column);
      x = m == 0 ? v : x * v;
    }
  x = lane < n ? x : 0.0F;
  const float y = __shfl_sync(all_lanes, target, of_lane);
  q->right = fmaf(y, x, q->right);
  q->squares += (double)(y * y);
  if (biased) {
    q->sum += x;
    q->target += (double)y;
  }
  q->diagonal = fmaf(x, x, q->diagonal);
  workspace->product[lane] = x;
  __syncwarp();
#pragma unroll
  for (int j = 0; j < W; j += 4) {
    float other[4];
    read4(workspace->product + j, other);
#pragma unroll
    for (int c = 0; c < 4; c++)
      q->a[j + c] = fmaf(x, other[c], q->a[j + c]);
  }
  __syncwarp();
}

/* Store the equations as the row's history. q: the lane's row, without a weight on the diagonal. */
template <int W, bool biased>
__device__ inline void leave_short(float *history, float *to, unsigned n, const short_row<W> &q,
                                   unsigned length, unsigned lane) {
  const equation_places at = places_of(n, biased);
  float *const own = history + place_of_pair(lane, 0);
#pragma unroll
  for (unsigned j = 0; j < (unsigned)W; j++)
    if (lane < n && j <= lane)
      own[j] = q.a[j];
  if (lane < n) {
    history[at.targets + lane] = q.right;
    if (biased)
      history[at.sum + lane] = q.sum;
  }
  if (lane == 0) {
    history[at.count] = (float)q.count;
    if (biased)
      history[at.target] = (float)q.target;
    history[at.squares] = (float)q.squares;
  }
  __syncwarp();
#pragma unroll 4
  for (unsigned k = lane; k < length; k += 32)
    to[k] = history[k];
  __syncwarp();
}

/* True if rows of few nonzeros go to this kernel. */
inline bool leaves_short(const amped_row_kernel_cuda_args *args) {
  return args->weights == nullptr && !(args->fit->implicit > 0.0);
}

/* Solve the rows of few nonzeros or, with `absorbs`, store their equations as histories; one strip
 * per warp. Their sums are added to the strip's. */
template <int W, int N, typename I, bool biased>
__global__ void __launch_bounds__(32, blocks_that_fit<W == 16 ? 32 : 20>)
    fit_short(const fit_problem<float, I> p) {
  /* Step 1: take the strip, and clear its workspace. */
  extern __shared__ __align__(16) unsigned char shared[];
  const unsigned lane = threadIdx.x;
  short_workspace<W> *const workspace = reinterpret_cast<short_workspace<W> *>(shared);
  const uint64_t strip = p.first_strip + blockIdx.x;
  const uint64_t first_piece = strip > 0 ? p.strip_ends[strip - 1] : 0;
  const amped_row_piece_cuda *const pieces = p.pieces + first_piece;
  const unsigned end = (unsigned)(p.strip_ends[strip] - first_piece);
  const unsigned ld = (unsigned)p.ld;
  const unsigned n = p.components;
  const unsigned column = lane < n ? lane : n - 1;
  double all_count = 0.0;
  double all_squares = 0.0; /* the lane's share, like all_penalty */
  double all_penalty = 0.0;
  for (unsigned k = lane; k < sizeof workspace->history / sizeof(float); k += 32)
    workspace->history[k] = 0.0F; /* lanes read numbers after a row's end, and do not use them */
  workspace->one[lane] = 0.0F;
  workspace->one[32 + lane] = lane == 0 ? 1.0F : 0.0F;
  __syncwarp();

  for (unsigned from = 0; from < end; from += 32) {
    /* Step 2: take 32 pieces, one per lane, and find rows of few nonzeros. */
    const amped_row_piece_cuda &piece = pieces[from + lane < end ? from + lane : end - 1];
    const bool is_dual = piece.slot == AMPED_NO_SLOT && piece.count <= p.few;
    unsigned left = __ballot_sync(all_lanes, from + lane < end && is_dual);
    if (left == 0)
      continue;
    const unsigned first_of_lane = (unsigned)(piece.first - p.first);
    const unsigned count_of_lane = piece.count;
    const uint64_t row_of_lane = piece.row;
    float *const history_of_lane = is_dual ? history_of(p, row_of_lane) : nullptr;
    const double keep_of_lane = is_dual ? p.history_keep[row_of_lane] : 0.0;

    raw_nonzero<float, N> raw;
    unsigned held = 0;
    unsigned k = 0;
    /* Load the nonzeros of lane i's piece, one per lane. Lanes after the last nonzero repeat it. */
    const auto load = [&](int i) {
      const unsigned last = __shfl_sync(all_lanes, count_of_lane, i) - 1;
      k = __shfl_sync(all_lanes, first_of_lane, i) + (lane < last ? lane : last);
      raw = load_nonzero<float, I, N>(p, k);
      held = p.held != nullptr ? __ldg(p.held + k / 32) : 0U;
    };
    const auto history_of_row = [&](int i) {
      return reinterpret_cast<float *>(
          __shfl_sync(all_lanes, reinterpret_cast<unsigned long long>(history_of_lane), i));
    };
    const auto ask = [&](int i) {
      ask_history<32>(workspace->history, history_of_row(i),
                      __shfl_sync(all_lanes, keep_of_lane, i) > 0.0, p.slot_length, lane);
    };
    int next = __ffs((int)left) - 1;
    load(next);
    ask(next);
    while (left != 0) {
      /* Step 3: decode row i's nonzeros, one per lane, and request the next row's. */
      const int i = next;
      left &= left - 1;
      next = left != 0 ? __ffs((int)left) - 1 : i;
      const unsigned nonzeros = __shfl_sync(all_lanes, count_of_lane, i);
      const uint64_t row = __shfl_sync(all_lanes, row_of_lane, i);
      const double keep = __shfl_sync(all_lanes, keep_of_lane, i);
      float *const to_past = history_of_row(i);
      float *const history = workspace->history + history_offset(to_past);
      const nonzero<float, I, N> mine = decode<float, I, N>(p, raw, k);
      const unsigned takes_part =
          __ballot_sync(all_lanes, lane < nonzeros && !(held >> (k % 32) & 1U));
      if (left != 0)
        load(next);
      float target = (mine.value - p.means[0] - p.means[1]) * p.per_scale_float;
      if constexpr (biased) {
#pragma unroll
        for (int m = 0; m < N; m++)
          if (N < most_inputs || m < (int)p.inputs)
            target -= __ldg(row_at(p.factors[m], mine.input[m], ld) + n);
      }
      target = takes_part >> lane & 1U ? target : 0.0F;
      __pipeline_wait_prior(0);
      __syncwarp();
      if (takes_part == 0) { /* the row stays */
        if (left != 0)
          ask(next);
        continue;
      }

      /* Step 4: add up the equations: the history, then each nonzero. */
      short_row<W> q;
      q.count = (double)__popc(takes_part) + keep * (double)history[places_of(n, biased).count];
      const double weight = penalty_of(p, q.count);
      const float on_diagonal = p.absorbs ? 0.0F : (float)weight;
      begin_short<W, biased>(workspace, history, keep, n, p.slot_length, on_diagonal, &q, lane);
      for (unsigned parts = takes_part; parts != 0; parts &= parts - 1) {
        const int of_lane = __ffs((int)parts) - 1;
        add_short<W, N, I, biased>(p, workspace, mine, target, of_lane, column, ld, n, &q, lane);
      }

      /* Step 5: request the next history; rows that are absorbed end here. */
      if (p.absorbs)
        leave_short<W, biased>(history, to_past, n, q, p.slot_length, lane);
      __syncwarp();
      if (left != 0)
        ask(next);
      if (p.absorbs) {
        all_count += q.count;
        continue;
      }

      /* Step 6: solve. */
      const float targets = q.right;
      q.right = lane < n ? (float)((double)targets + weight * p.prior) : 0.0F;
      float bias = 0.0F;
      if (!solve_short<W, biased>(workspace, &q, (float)(q.count + p.reg_bias), &bias, n, lane)) {
        if (lane == 0)
          p.failed[first_piece + from + (unsigned)i] = 1;
        continue;
      }

      /* Step 7: store the row, and add up its sums: tt - 2 x g + x H x. The equations give
       * H x = g + weight (prior - x). */
      all_count += q.count;
      float *const to = p.own + row * ld;
      if (lane < n) {
        const double x = (double)workspace->x[lane];
        const double off = x - p.prior;
        to[lane] = (float)x;
        all_squares -= x * ((double)targets + weight * off);
        all_penalty += weight * off * off;
      }
      if (lane == 0) {
        all_squares += q.squares;
        if (biased) {
          to[n] = bias;
          all_squares -= (double)bias * (q.target + p.reg_bias * (double)bias);
          all_penalty += p.told_bias * (double)bias * (double)bias;
        }
      }
      __syncwarp();
    }
  }
  add_to_strip(p, strip, all_count, all_squares, all_penalty, lane);
}

template <int W, int N, typename I, bool biased>
amped_status launch_short(const fit_problem<float, I> &p, cudaStream_t stream) {
  return launch_strips(fit_short<W, N, I, biased>, p, (unsigned)sizeof(short_workspace<W>), stream,
                       "the kernel of rows with a history");
}

} // namespace

#endif
