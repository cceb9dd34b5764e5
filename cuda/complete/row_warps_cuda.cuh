/* The kernel of row fits with one warp per row, and its launch, as templates. A .cu file for each
 * width and some orders of tensors instantiates them (row_warps_32_order3.cu, ...), so that they
 * compile in parallel.
 *
 * Coordinates. A row of W = 16, 32 or 64 components is W / 8 blocks of 8 coordinates. Eight lanes
 * copy a row to shared memory, which is one or two cache lines; of eight nonzeros, four are copied
 * at a time. Lanes (g, t), with g = lane / 4 and t = lane % 4, read W / 8 components of two
 * nonzeros, t and t + 4. Component c of a lane is coordinate 8 c + g, so these registers are the
 * fragments of both factors of m16n8k8. (If lanes gathered rows in that order, a quarter of a warp
 * would request four cache lines: L1 was the limit.)
 *
 * Sums. H is the tiles on and below the diagonal, as accumulators of the tensor cores. A product is
 * three products: high by high parts, and twice a high by a low part (3xTF32). Every 128 nonzeros
 * the accumulators are added to sums in shared memory, because tensor cores cut off what does not
 * fit. Targets are added in registers, each lane a quarter.
 *
 * Solution: warp_panels_cuda.cuh, in the shared memory in which sums are folded.
 *
 * History: 2.4 KB per row of 32 components are more than everything else that a row of a few
 * nonzeros reads. Histories are loaded into shared memory in order, the next row's while the
 * current row is solved. The lane that has an element of H adds the history's number in registers.
 *
 * The nonzeros of the next piece are requested while the current row is solved. Rows of few
 * nonzeros are left out here and have kernels of their own: without a history if rows are short
 * (row_dual_cuda.cuh); with a history if they have up to 32 components (row_short_cuda.cuh). Each
 * strip leaves its sums in a place of its own, so results have the same bits every time. */
#ifndef AMPED_ROW_WARPS_CUDA_CUH
#define AMPED_ROW_WARPS_CUDA_CUH

#include "cuda/complete/row_dual_cuda.cuh"
#include "cuda/complete/row_ring_cuda.cuh"
#include "cuda/complete/row_short_cuda.cuh"
#include "cuda/complete/warp_panels_cuda.cuh"

namespace {

constexpr unsigned fold_nonzeros = 128;

/* Equations of a piece, as lanes hold them. targets, sums: by component c, the same in all lanes of
 * one g. */
template <int W> struct warp_equations {
  float h[fit_shape<W>::tiles][4];
  float targets[fit_shape<W>::blocks];
  float sums[fit_shape<W>::blocks];
  double count, target, squares;
};

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

/* Write a piece's sums to its slot, as packed equations (row_fit.h). */
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

/* Warps that must fit on a multiprocessor, which limits registers per thread. */
template <int W, int N> struct fit_tuning {
  static constexpr int warps = W == 64 ? 8 : N > 3 ? 12 : W == 32 ? 16 : 24;
};

/* A lane's other sums of the piece. They lie in shared memory, because registers are scarce. */
struct lane_sums {
  double count, target, squares;
};

/* Sums of the strip's rows: the lane's shares. */
struct strip_sums {
  double count, squares, penalty;
};

/* A warp's shared memory. H is folded in the memory of the workspace. */
template <int W> struct warp_memory {
  union {
    panel_workspace<W> workspace;
    float fold[fit_shape<W>::numbers][32];
  };
  lane_sums sums[32];
};

/* More shared memory of a warp, if rows have a history. */
template <int W> struct warp_history {
  alignas(16) float numbers[history_floats<W>]; /* history of a row */
  float *rows[32];                              /* histories of 32 pieces, from a multiple of 32 */
  double keep[32]; /* factors of these histories; 0 if a piece is no whole row */
};

/* Shared memory of a warp before its ring. */
template <int W, bool has_history>
constexpr unsigned bytes_of_warp = (unsigned)(sizeof(warp_memory<W>) +
                                              (has_history ? sizeof(warp_history<W>) : 0));

template <int W, int N, bool has_history>
using ring_of_warp = row_ring<W, N, fit_tuning<W, N>::warps, bytes_of_warp<W, has_history>>;

/* Find the histories of pieces first .. first + 32 of a strip. */
template <int W, typename P>
__device__ inline void find_histories(const P &p, warp_history<W> *history,
                                      const amped_row_piece_cuda *pieces, unsigned first,
                                      unsigned end, unsigned lane) {
  if (first + lane < end) {
    const amped_row_piece_cuda &piece = pieces[first + lane];
    const bool is_row = piece.slot == AMPED_NO_SLOT;
    history->rows[lane] = is_row ? history_of(p, piece.row) : nullptr;
    history->keep[lane] = is_row ? p.history_keep[piece.row] : 0.0;
  }
  __syncwarp();
}

/* Address of piece i's history in shared memory, once it is loaded. */
template <int W> __device__ inline float *numbers_of(warp_history<W> *history, unsigned i) {
  return history->numbers + history_offset(history->rows[i]);
}

/* Add the history of piece i, times its `keep`, to the piece's own equations, except n. *squares:
 * the lane's. H's upper triangle stays as it is, so that one lane alone has each element. leaves:
 * H's sums replace the history in shared memory. */
template <int W>
__device__ inline void add_history(warp_history<W> *history, unsigned i, unsigned n, bool biased,
                                   bool leaves, warp_equations<W> *q, double *squares,
                                   unsigned lane) {
  const unsigned g = lane / 4;
  const unsigned t = lane % 4;
  const double keep = history->keep[i];
  const float by = (float)keep;
  float *const from = numbers_of(history, i);
  const equation_places at = places_of(n, biased);
  const auto take = [&](unsigned place, float *own) { *own = fmaf(by, from[place], *own); };
#pragma unroll
  for (int m = 0; m < fit_shape<W>::halves; m++)
#pragma unroll
    for (int b = 0; b < 2 * m + 2; b++)
#pragma unroll
      for (int k = 0; k < 4; k++) {
        const unsigned row = 16U * m + g + 8U * (k / 2);
        const unsigned column = 8U * b + 2 * t + k % 2;
        const unsigned r = column_at<W>(row);
        const unsigned c = column_at<W>(column);
        if (row >= column && r < n && c < n) {
          take(place_of_pair(r, c), &q->h[tile_at(m, b)][k]);
          if (leaves)
            from[place_of_pair(r, c)] = q->h[tile_at(m, b)][k];
        }
      }
#pragma unroll
  for (int c = 0; c < fit_shape<W>::blocks; c++) {
    const unsigned column = column_of<W>(c, g);
    if (column < n) {
      take(at.targets + column, &q->targets[c]);
      if (biased)
        take(at.sum + column, &q->sums[c]);
    }
  }
  if (biased)
    q->target += keep * (double)from[at.target];
  if (lane == 0)
    *squares += keep * (double)from[at.squares];
  __syncwarp();
}

/* Store piece i's equations as its history. add_history has put H into shared memory. */
template <int W>
__device__ inline void leave_history(warp_history<W> *history, unsigned i, unsigned n, bool biased,
                                     const warp_equations<W> &q, double squares, unsigned length,
                                     unsigned lane) {
  float *const from = numbers_of(history, i);
  float *const to = history->rows[i];
  const equation_places at = places_of(n, biased);
#pragma unroll
  for (int c = 0; c < fit_shape<W>::blocks; c++) {
    const unsigned column = column_of<W>(c, lane / 4);
    if (lane % 4 == 0 && column < n) {
      from[at.targets + column] = q.targets[c];
      if (biased)
        from[at.sum + column] = q.sums[c];
    }
  }
  if (lane == 0) {
    from[at.count] = (float)q.count;
    if (biased)
      from[at.target] = (float)q.target;
    from[at.squares] = (float)squares;
  }
  __syncwarp();
#pragma unroll 4
  for (unsigned k = lane; k < length; k += 32)
    to[k] = from[k];
}

/* Nonzeros of a piece: base, the first one's number in the problem; count; behind, the first
 * nonzero of the piece that is taken next. */
struct piece_span {
  unsigned base, count, behind;
};
template <typename P>
__device__ inline piece_span span_of(const P &p, const amped_row_piece_cuda *pieces, unsigned at,
                                     unsigned next, unsigned end) {
  const unsigned base = (unsigned)(pieces[at].first - p.first);
  const unsigned count = pieces[at].count;
  return {base, count, next < end ? (unsigned)(pieces[next].first - p.first) : base + count};
}

template <int W> __device__ __forceinline__ void clear(warp_equations<W> *q) {
#pragma unroll
  for (int i = 0; i < fit_shape<W>::tiles; i++)
#pragma unroll
    for (int j = 0; j < 4; j++)
      q->h[i][j] = 0.0F;
#pragma unroll
  for (int c = 0; c < fit_shape<W>::blocks; c++)
    q->targets[c] = q->sums[c] = 0.0F;
}

/* Add H of some nonzeros to the sums in shared memory. They are H after the last fold, and begin
 * again after others. */
template <int W>
__device__ __forceinline__ void fold(float (*folds)[32], warp_equations<W> *q, bool is_first,
                                     bool is_last, unsigned lane) {
  int k = 0;
#pragma unroll
  for (int m = 0; m < fit_shape<W>::halves; m++)
#pragma unroll
    for (int n = 0; n < 2 * m + 2; n++)
#pragma unroll
      for (int i = 0; i < 4; i++)
        if (!is_above(m, n, i)) {
          float &x = q->h[tile_at(m, n)][i];
          const float sum = is_first ? x : folds[k][lane] + x;
          folds[k++][lane] = sum;
          x = is_last ? sum : 0.0F;
        }
}

/* Targets and sums of p: add up the shares of the four lanes of one g. */
template <int W, bool biased> __device__ __forceinline__ void add_lanes(warp_equations<W> *q) {
#pragma unroll
  for (int c = 0; c < fit_shape<W>::blocks; c++)
    for (int i = 1; i < 4; i *= 2) {
      q->targets[c] += __shfl_xor_sync(all_lanes, q->targets[c], i);
      if (biased)
        q->sums[c] += __shfl_xor_sync(all_lanes, q->sums[c], i);
    }
}

/* Add a solved row's sums to the strip's; squares: the lane's share of the row's. Sum of squares:
 * tt - x g + weight (prior - x) x, because M x = right and M = H + weight. */
template <int W, typename P>
__device__ __forceinline__ void add_row_sums(const P &p, const warp_equations<W> &q, const float *x,
                                             float bias, double weight, bool biased, double squares,
                                             strip_sums *all, unsigned lane) {
  constexpr int blocks = fit_shape<W>::blocks;
  const unsigned g = lane / 4;
  const unsigned t = lane % 4;
  double penalty = 0.0;
#pragma unroll
  for (int first = 0; first < blocks; first += 4) {
    const int c = first + (int)t; /* one component per lane */
    const auto of_lane = [&](const float *v) {
      float own = v[first];
#pragma unroll
      for (int i = 1; i < 4 && first + i < blocks; i++)
        own = t == (unsigned)i ? v[first + i] : own;
      return (double)own;
    };
    const double own = of_lane(x);
    const double off = own - p.prior;
    if (c < blocks && column_of<W>(c, g) < p.components) {
      squares -= own * (of_lane(q.targets) + weight * off);
      penalty += off * off;
    }
  }
  penalty *= weight;
  if (lane == 0) {
    if (biased)
      squares -= (double)bias * (q.target + p.reg_bias * (double)bias);
    penalty += p.told_bias * (double)bias * (double)bias;
    all->count += q.count;
  }
  all->squares += squares;
  all->penalty += penalty;
}

/* Store a row: its components, its bias, and zeros up to the row's end. */
template <int W, typename P>
__device__ __forceinline__ void store_row(const P &p, float *to, float *x, float bias, bool biased,
                                          unsigned lane) {
  constexpr int blocks = fit_shape<W>::blocks;
  const unsigned g = lane / 4;
  const unsigned t = lane % 4;
  const unsigned ld = (unsigned)p.ld;
#pragma unroll
  for (int c = 0; c < blocks; c++)
    if (biased && column_of<W>(c, g) == p.components)
      x[c] = bias;
  if (t == 0 && p.is_block) {
#pragma unroll
    for (int c = 0; c < blocks; c++)
      if (column_of<W>(c, g) < p.components + (biased ? 1U : 0U))
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
  if (biased && p.components == (unsigned)W && lane == 0)
    to[W] = bias;
}

/* Fit the pieces of a strip, one warp per strip. N: number of inputs, or most_inputs for any
 * number. weighs: nonzeros have weights, or the fit is implicit. has_history: rows have histories;
 * kernels of their own, because this doubles the code. leaves_out: other kernels fit rows of few
 * nonzeros. steps: unrolled steps of eight nonzeros, 4 or 1. */
template <int W, int N, typename I, bool biased, bool weighs, bool has_history, bool leaves_out,
          int steps>
__global__ void __launch_bounds__(32, blocks_that_fit<fit_tuning<W, N>::warps>)
    fit_rows(const fit_problem<float, I> p) {
  constexpr int blocks = fit_shape<W>::blocks;
  constexpr int held_inputs = N < most_inputs ? N : 1;
  /* Step 1: take the strip. */
  extern __shared__ __align__(16) unsigned char shared[];
  const unsigned lane = threadIdx.x;
  const unsigned g = lane / 4;
  const unsigned t = lane % 4;
  warp_memory<W> *const memory = reinterpret_cast<warp_memory<W> *>(shared);
  lane_sums *const sums = &memory->sums[lane];
  const uint64_t strip = p.first_strip + blockIdx.x;
  const uint64_t first_piece = strip > 0 ? p.strip_ends[strip - 1] : 0;
  const amped_row_piece_cuda *const pieces = p.pieces + first_piece;
  const unsigned end = (unsigned)(p.strip_ends[strip] - first_piece);
  const unsigned ld = (unsigned)p.ld;
  const lane_share share = share_of<W>(lane % 8, ld);
  const bool masks = p.components < (unsigned)W;
  const unsigned last = (unsigned)(pieces[end - 1].first - p.first) + pieces[end - 1].count - 1;
  const unsigned begin = leaves_out ? next_piece(p, pieces, 0, end, false, lane) : 0;
  strip_sums all = {0.0, 0.0, 0.0};
  if (leaves_out && begin == end) {
    if (lane == 0)
      p.sums[strip] = {0, 0.0, 0.0, 0};
    return;
  }
  const float *shares[held_inputs]; /* the lane's share of each factor's first row */
#pragma unroll
  for (int m = 0; m < held_inputs; m++)
    shares[m] = kept(p.factors[m] + share.first);

  /* The batch after the current one: up to 32 nonzeros of a piece, one per lane, packed as in
   * memory. */
  unsigned k = 0;
  raw_nonzero<float, N> raw;
  unsigned held = 0;
  const auto load = [&](unsigned first) {
    k = first + lane < last ? first + lane : last;
    raw = load_nonzero<float, I, N>(p, k);
    held = p.held != nullptr ? __ldg(p.held + k / 32) : 0U;
  };

  /* The batch taken last. alive: one bit per nonzero that takes part. */
  nonzero<float, I, N> mine;
  float others[N];
  float weight_of_mine = 1.0F;
  unsigned alive = 0;
  /* Take nonzeros j .. j + 32 of a piece, then start to load the next ones. Waits only for the load
   * before. */
  const auto take = [&](piece_span of, unsigned j) {
    mine = decode<float, I, N>(p, raw, k);
    alive = __ballot_sync(all_lanes, j + lane < of.count && !(held >> (k % 32) & 1U));
    if constexpr (biased)
#pragma unroll
      for (int m = 0; m < N; m++)
        if (N < most_inputs || m < (int)p.inputs)
          others[m] = __ldg(row_at(p.factors[m], mine.input[m], ld) + p.components);
    if (weighs && p.weights != nullptr)
      weight_of_mine = __ldg(p.weights + k);
    load(j + 32 < of.count ? of.base + j + 32 : of.behind);
  };

  /* Copy the rows of eight nonzeros, from nonzero `from` of the batch on, to the next stage. */
  ring_of_warp<W, N, has_history> ring(shared, p.inputs, lane);
  const auto ask = [&](unsigned from) {
#pragma unroll
    for (int i = 0; i < 2; i++)
#pragma unroll
      for (int m = 0; m < N; m++)
        if (N < most_inputs || m < (int)p.inputs) {
          const I position = __shfl_sync(all_lanes, mine.input[m], (int)(from + lane / 8) + 4 * i);
          const float *const begin =
              N < most_inputs ? shares[N < most_inputs ? m : 0] : p.factors[m] + share.first;
          ring.ask(i, m, row_at(begin, position, ld), share);
        }
    ring.asked();
  };

  /* Sums of the current piece; of its current batch the nonzeros that take part, the lane's target
   * and the root of its weight. has_begun: the batch taken last is the current one. `told_target`,
   * `told_squares`: sums of a few batches, in float. */
  warp_equations<W> q;
  unsigned seen = 0; /* nonzeros that took part */
  unsigned current = 0;
  bool has_begun = true;
  float target = 0.0F;
  float root = 0.0F;
  float told_target = 0.0F;
  float told_squares = 0.0F;
  /* Make the batch taken last the current one. */
  const auto begin_batch = [&]() {
    has_begun = true;
    current = alive;
    const bool on = alive >> lane & 1U;
    float y = (mine.value - p.means[0] - p.means[1]) * p.per_scale_float;
    if constexpr (biased) {
#pragma unroll
      for (int m = 0; m < N; m++)
        if (N < most_inputs || m < (int)p.inputs)
          y -= others[m];
    }
    if constexpr (weighs) {
      const fit_term of =
          on ? term_of_weight(p, (double)y, (double)weight_of_mine) : fit_term{0.0, 0.0, 0.0, 0.0};
      target = (float)of.target;
      root = (float)sqrt(of.weight);
      sums->count += of.count;
      sums->target += of.target;
      sums->squares += of.square;
    } else {
      target = on ? y : 0.0F;
      seen += (unsigned)__popc(alive); /* in all lanes */
      told_target += target;
      told_squares = fmaf(target, target, told_squares);
    }
  };
  const auto tell = [&]() {
    if constexpr (!weighs) {
      sums->target += (double)told_target;
      sums->squares += (double)told_squares;
      told_target = told_squares = 0.0F;
    }
  };

  /* Products of nonzeros t and t + 4 of the oldest stage, of `stages`, as fragments. */
  float products[2][blocks];
  const auto multiply = [&](unsigned stages) {
    ring.wait(stages);
#pragma unroll
    for (int i = 0; i < 2; i++)
#pragma unroll
      for (int m = 0; m < N; m++)
        if (N < most_inputs || m < (int)p.inputs) {
          float v[blocks];
          ring.take(i, m, v);
#pragma unroll
          for (int c = 0; c < blocks; c++)
            products[i][c] = m == 0 ? v[c] : products[i][c] * v[c];
        }
    ring.taken();
  };
  /* Set to zero: products of nonzeros that take no part, and columns after the components. */
  const auto leave_out = [&](unsigned eight) {
#pragma unroll
    for (int i = 0; i < 2; i++) {
      const bool on = eight >> (t + 4U * (unsigned)i) & 1U;
#pragma unroll
      for (int c = 0; c < blocks; c++)
        products[i][c] = on && column_of<W>(c, g) < p.components ? products[i][c] : 0.0F;
    }
  };
  /* Add the products of eight nonzeros to the sums. */
  const auto add = [&](const float *targets, const float *roots) {
#pragma unroll
    for (int c = 0; c < blocks; c++) {
      q.targets[c] = fmaf(targets[0], products[0][c], q.targets[c]);
      q.targets[c] = fmaf(targets[1], products[1][c], q.targets[c]);
      if constexpr (weighs) {
        products[0][c] *= roots[0];
        products[1][c] *= roots[1];
      }
      if constexpr (biased && weighs)
        q.sums[c] = fmaf(roots[0], products[0][c], fmaf(roots[1], products[1][c], q.sums[c]));
      else if constexpr (biased)
        q.sums[c] += products[0][c] + products[1][c];
    }
    add_products<W>(q.h, products);
  };
  const auto of_step = [&](unsigned from, float *targets, float *roots) {
#pragma unroll
    for (int i = 0; i < 2; i++) {
      targets[i] = __shfl_sync(all_lanes, target, (int)(from + t) + 4 * i);
      roots[i] = weighs ? __shfl_sync(all_lanes, root, (int)(from + t) + 4 * i) : 1.0F;
    }
  };

  /* Load the history of the strip's piece `at`. The history before it must not be needed any
   * more. */
  const auto warp_histories = [&]() {
    return reinterpret_cast<warp_history<W> *>(shared + sizeof(warp_memory<W>));
  };
  unsigned found = ~0U; /* pieces 32 found and following have their histories in `rows` */
  const auto begin_history = [&](unsigned at) {
    ring.wait_for_earlier(); /* a row that stays may not have waited for its load */
    if (at / 32 != found) {
      found = at / 32;
      find_histories<W>(p, warp_histories(), pieces, 32 * found, end, lane);
    }
    warp_history<W> *const history = warp_histories();
    ask_history<32>(history->numbers, history->rows[at % 32], history->keep[at % 32] > 0.0,
                    p.slot_length, lane);
  };
  if constexpr (has_history)
    begin_history(begin);

  /* Step 2: request the first piece's nonzeros, and the rows of the first stages. Rows are asked
   * for ahead of the products: of later nonzeros of the piece `here`, then of the next piece, as
   * far as the batch after the current one. behind: the piece's first nonzero that is not asked
   * for. */
  unsigned following = leaves_out ? next_piece(p, pieces, begin + 1, end, false, lane) : begin + 1;
  unsigned after = end; /* the piece after `following` */
  piece_span here = span_of(p, pieces, begin, following, end);
  piece_span next = here;
  bool is_in_next = false;
  unsigned behind = 0;
  const auto ask_ahead = [&]() {
    while (ring.count() < ring.stages) {
      if (!is_in_next && behind >= here.count) {
        if (following >= end)
          return;
        if constexpr (leaves_out) {
          after = next_piece(p, pieces, following + 1, end, false, lane);
          next = span_of(p, pieces, following, after, end);
        }
        is_in_next = true;
        behind = 0;
      }
      const piece_span of = {is_in_next ? next.base : here.base,
                             is_in_next ? next.count : here.count,
                             is_in_next ? next.behind : here.behind};
      if (behind >= of.count)
        return;
      if (behind % 32 == 0) {
        if (!has_begun)
          return;
        take(of, behind);
        has_begun = false;
      }
      ask(behind % 32);
      behind += 8;
    }
  };
  load(here.base);
  ask_ahead();
  for (unsigned at = begin; at < end; at = following, following = after) {
    /* Nonzeros of a strip's pieces are consecutive, unless pieces are left out. */
    if constexpr (!leaves_out) {
      const unsigned first = here.base + here.count;
      const unsigned count = following < end ? pieces[following].count : 0U;
      next = {first, count, first + count};
      after = following + 1;
    }

    /* Step 3: add up the products of the piece, eight nonzeros at a time. */
    clear(&q);
    sums->count = sums->target = sums->squares = 0.0;
    seen = 0;
    for (unsigned j = 0; j < here.count;) {
      const unsigned stop = here.count - j < fold_nonzeros ? here.count : j + fold_nonzeros;
      while (j < stop) {
        float targets[2];
        float roots[2];
        if (j % 32 == 0)
          begin_batch();
        if (j % 32 == 0 && !masks && current == ~0U && ring.count() == ring.stages &&
            j + 24 + 8 * ring.stages < here.count) {
          /* A whole batch, with nonzeros for all stages after it: none needs a check. */
#pragma unroll steps
          for (unsigned from = 0; from < 32; from += 8) {
            of_step(from, targets, roots);
            multiply(ring.stages);
            const unsigned ahead = from + 8 * ring.stages;
            if (ahead == 32) {
              take(here, j + 32);
              has_begun = false;
            }
            ask(ahead % 32);
            add(targets, roots);
          }
          j += 32;
          behind += 32;
          continue;
        }
        const unsigned eight = current >> (j % 32) & 0xffU;
        of_step(j % 32, targets, roots);
        multiply(ring.count());
        if (masks || eight != 0xffU)
          leave_out(eight);
        j += 8;
        ask_ahead();
        add(targets, roots);
      }
      tell();
      if (here.count > fold_nonzeros) {
        const bool is_first_fold = stop == fold_nonzeros;
        const bool is_last_fold = j >= here.count;
        fold<W>(memory->fold, &q, is_first_fold, is_last_fold, lane);
      }
    }
    here = next; /* some of which is asked for, if there is one */
    is_in_next = false;
    const uint64_t row = pieces[at].row;
    const unsigned slot = pieces[at].slot;

    /* Step 4: add up the lanes' shares, and the history. */
    add_lanes<W, biased>(&q);
    q.count = weighs ? sum_of_lanes(sums->count) : (double)seen;
    q.target = biased ? sum_of_lanes(sums->target) : 0.0;

    const bool is_row = slot == AMPED_NO_SLOT;
    const bool works = is_row && q.count > 0.0;
    if (has_history && works) {
      ring.wait_for_earlier();
      q.count +=
          warp_histories()->keep[at % 32] *
          (double)numbers_of(warp_histories(), at % 32)[places_of(p.components, biased).count];
    }
    const bool leaves = has_history && p.absorbs;
    if constexpr (has_history) {
      if (works)
        add_history<W>(warp_histories(), at % 32, p.components, biased, leaves, &q, &sums->squares,
                       lane);
      if (works && leaves) {
        leave_history<W>(warp_histories(), at % 32, p.components, biased, q,
                         sum_of_lanes(sums->squares), p.slot_length, lane);
        if (lane == 0)
          all.count += q.count;
      }
    }

    /* Step 5: complete the equations, and request the next history. Pieces of long rows, and rows
     * that only leave a history, end here. */
    const double weight = penalty_of(p, q.count);
    if (works && !leaves) {
      if (p.base != nullptr)
        add_base<W>(p.base, p.components, q.h, lane);
      float right[blocks];
#pragma unroll
      for (int c = 0; c < blocks; c++)
        right[c] = column_of<W>(c, g) < p.components
                       ? (float)((double)q.targets[c] + weight * p.prior)
                       : 0.0F;
      begin_equations<W>(&memory->workspace, q.h, (float)weight, p.components, right, q.sums,
                         biased, lane);
    }
    if constexpr (has_history) {
      if (following < end)
        begin_history(following);
      if (is_row && (leaves || !works))
        continue; /* the row stays */
    }
    if (!is_row) {
      q.squares = sum_of_lanes(sums->squares);
      store_slot<W>(p.slots + (uint64_t)slot * p.slot_length, q, p.components, biased, lane);
      continue;
    }

    /* Step 6: solve, and add up the row's sums. */
    float x[blocks];
    float bias = 0.0F;
    if (works) {
      const bool good = solve_by_panels<W, biased>(
          &memory->workspace, q.h, (float)(q.count + p.reg_bias), (float)q.target, &bias, lane);
#pragma unroll
      for (int c = 0; c < blocks; c++)
        x[c] = memory->workspace.x[8U * (unsigned)c + g];
      __syncwarp();
      if (!good) {
        if (lane == 0)
          p.failed[first_piece + at] = 1;
        continue;
      }
      add_row_sums<W>(p, q, x, bias, weight, biased, sums->squares, &all, lane);
    } else {
#pragma unroll
      for (int c = 0; c < blocks; c++)
        x[c] = column_of<W>(c, g) < p.components ? (float)p.empty[column_of<W>(c, g)] : 0.0F;
      if (lane == 0) {
        all.squares += p.of_empty.squares;
        all.penalty += p.of_empty.penalty;
      }
    }

    /* Step 7: store the row. */
    store_row<W>(p, p.own + row * ld, x, bias, biased, lane);
  }
  all.squares = sum_of_lanes(all.squares);
  all.penalty = sum_of_lanes(all.penalty);
  if (lane == 0)
    p.sums[strip] = {all.count, all.squares, all.penalty, 0};
}

/* True if pieces are so long on average that they run faster with four steps unrolled. Short rows
 * of 64 components then wait for instructions: their sums and solution together are more than the
 * instruction cache holds. */
template <int W> bool are_long(const amped_row_kernel_cuda_args *args) {
  return W < 64 || args->mean_nonzeros >= 1024.0;
}

template <int W, int N, typename I, bool biased, bool weighs, bool has_history, bool leaves_out,
          int steps>
amped_status launch_rows(const amped_row_kernel_cuda_args *args) {
  static_assert(sizeof(warp_memory<W>) % 16 == 0 && sizeof(warp_history<W>) % 16 == 0, "unaligned");
  const unsigned bytes =
      bytes_of_warp<W, has_history> + ring_of_warp<W, N, has_history>::bytes_of(args->inputs);
  fit_problem<float, I> p = {};
  describe_fit(&p, args);
  if constexpr (leaves_out)
    p.few = !has_history ? most_dual<W> : leaves_short(args) ? most_short : 0;
  AMPED_TRY(launch_strips(fit_rows<W, N, I, biased, weighs, has_history, leaves_out, steps>, p,
                          bytes, args->stream, "the row-fit kernel"));
  if constexpr (leaves_out && has_history) {
    if (p.few > 0)
      return launch_short<W, N, I, biased>(p, args->stream);
  } else if constexpr (leaves_out)
    return launch_dual<W, N, I, biased>(p, args->stream);
  return AMPED_OK;
}

template <int W, int N, typename I, bool biased, bool weighs, bool has_history>
amped_status launch_warps(const amped_row_kernel_cuda_args *args) {
  constexpr int steps = W < 64 ? 4 : 1; /* if pieces are short */
  if constexpr (has_history)
    return launch_rows<W, N, I, biased, weighs, true, W <= 32, steps>(args);
  else {
    if constexpr (has_dual<W>(weighs)) {
      if (leaves_dual<W>(args))
        return launch_rows<W, N, I, biased, weighs, false, true, steps>(args);
    }
    return are_long<W>(args) ? launch_rows<W, N, I, biased, weighs, false, false, 4>(args)
                             : launch_rows<W, N, I, biased, weighs, false, false, steps>(args);
  }
}

template <int W, int N, typename I>
amped_status launch_warps_of(const amped_row_kernel_cuda_args *args) {
  const bool weighs = args->weights != nullptr || args->fit->implicit > 0.0;
  if (args->fit->biased)
    return weighs ? launch_warps<W, N, I, true, true, false>(args)
                  : launch_warps<W, N, I, true, false, false>(args);
  return weighs ? launch_warps<W, N, I, false, true, false>(args)
                : launch_warps<W, N, I, false, false, false>(args);
}

template <int W, int N, typename I, bool weighs>
amped_status launch_warps_with_history(const amped_row_kernel_cuda_args *args) {
  return args->fit->biased ? launch_warps<W, N, I, true, weighs, true>(args)
                           : launch_warps<W, N, I, false, weighs, true>(args);
}

/* Fit rows with histories. Order 3 without weights has a kernel without weights. All other tensors
 * share a kernel with weights, which are 1 if the tensor has none. */
template <int W> amped_status launch_history(const amped_row_kernel_cuda_args *args) {
  return args->inputs == 2 && args->weights == nullptr
             ? launch_warps_with_history<W, 2, index32, false>(args)
             : launch_warps_with_history<W, most_inputs, index32, true>(args);
}

} // namespace

#endif
