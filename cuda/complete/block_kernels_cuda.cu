/* Kernels of block fits: update targets, fit rows of one column, exchange columns. */
#include "cuda/complete/block_kernels_cuda.h"

#include <cfloat>
#include <type_traits>

#include "cuda/complete/fit_problem_cuda.cuh"
#include "cuda/device/grid_cuda.cuh"

namespace {

constexpr int strip_warps = 8; /* per thread block, one strip each */

template <typename T, typename I> struct block_problem : fit_problem<T, I> {
  unsigned width;
  T *kept; /* targets, from the problem's first nonzero on */
  const T *rows;
  uint64_t block_first, block_rows;
  const uint64_t *positions;
  bool makes;
  const T *factor;
  const T *whole[most_inputs];
  uint64_t whole_ld;
  unsigned hidden, hidden_end, whole_components; /* the block's range of the factors' components,
                                                    and their number */
};

template <typename T, typename I>
void describe_block(block_problem<T, I> *p, const amped_block_kernel_cuda_args *a) {
  describe_fit<T, I>(p, a->fit);
  p->width = (unsigned)a->width;
  p->kept = static_cast<T *>(a->kept) + a->fit->packed->first;
  p->rows = static_cast<const T *>(a->rows);
  p->block_first = a->block_first;
  p->block_rows = a->block_rows;
  p->positions = a->positions;
  p->makes = a->makes;
  p->factor = static_cast<const T *>(a->factor);
  for (int m = 0; m < a->fit->inputs; m++)
    p->whole[m] = static_cast<const T *>(a->whole[m]);
  p->whole_ld = a->whole_ld;
  p->hidden = (unsigned)a->first;
  p->hidden_end = (unsigned)(a->first + a->fit->components);
  p->whole_components = (unsigned)a->components;
}

/* --- strips ---------------------------------------------------------------------------------- */

/* A warp's traversal of a strip, 32 nonzeros at a time. */
struct strip_traversal {
  uint64_t piece, end; /* piece of nonzero `base`; the piece after the strip */
  uint64_t base, last; /* first of the current nonzeros; the nonzero after the strip */
  unsigned begins;     /* one bit per lane, except lane 0: its nonzero begins a piece */
  unsigned here;       /* number of current nonzeros, at most 32 */
};

template <typename P> __device__ inline strip_traversal traversal_of(const P &p, uint64_t strip) {
  strip_traversal w = {};
  w.piece = strip > 0 ? p.strip_ends[strip - 1] : 0;
  w.end = p.strip_ends[strip];
  w.base = p.pieces[w.piece].first;
  w.last = p.pieces[w.end - 1].first + p.pieces[w.end - 1].count;
  return w;
}

/* Find the lanes whose nonzeros begin a piece. Returns false if the strip has no more nonzeros. */
template <typename P> __device__ inline bool look(const P &p, strip_traversal *w, unsigned lane) {
  if (w->base >= w->last)
    return false;
  w->here = w->last - w->base < 32 ? (unsigned)(w->last - w->base) : 32U;
  w->begins = 0U;
  if (p.pieces[w->piece].first + p.pieces[w->piece].count < w->base + w->here) {
    const uint64_t next = w->piece + 1 + lane;
    const uint64_t off = next < w->end ? p.pieces[next].first - w->base : 32;
    unsigned bits = off < 32 ? 1U << (unsigned)off : 0U;
    for (int i = 16; i > 0; i /= 2)
      bits |= __shfl_xor_sync(all_lanes, bits, i);
    w->begins = bits;
  }
  return true;
}

/* Piece of this lane's nonzero. Lanes after the last nonzero get its piece. */
__device__ inline uint64_t piece_of(const strip_traversal &w, unsigned lane) {
  return w.piece + (uint64_t)__popc(w.begins & ((2U << lane) - 1U));
}

/* Move on by 32 nonzeros. ends: the last of the current nonzeros ends its piece. */
__device__ inline void advance(strip_traversal *w, bool ends) {
  w->piece += (uint64_t)__popc(w->begins) + (ends ? 1 : 0);
  w->base += 32;
}

template <typename P> __device__ inline uint64_t position_of(const P &p, uint64_t row) {
  return row < p.block_rows ? p.block_first + row : p.positions[row - p.block_rows];
}

/* --- targets --------------------------------------------------------------------------------- */

/* Model at a nonzero, without biases and without the block's components. */
template <typename T, typename I>
__device__ inline double model_of(const block_problem<T, I> &p, const I *inputs,
                                  uint64_t position) {
  const T *const own = p.factor + position * p.whole_ld;
  double sum = 0.0;
  for (unsigned c = 0; c < p.whole_components; c++) {
    double product = (double)__ldg(own + c);
    for (unsigned m = 0; m < p.inputs; m++)
      product *= (double)__ldg(p.whole[m] + ((uint64_t)inputs[m] * p.whole_ld + c));
    sum += c >= p.hidden && c < p.hidden_end ? 0.0 : product;
  }
  return sum;
}

/* Change of a target from block to block: minus the product of `before`, plus the product of
 * `start` (block_fit.h). Columns `now` and bias may be written meanwhile; they are not read
 * here. */
template <typename T, typename I>
__device__ inline double change_of(const block_problem<T, I> &p, const I *inputs,
                                   uint64_t position) {
  const T *const own = p.rows + position * p.ld;
  double sum = 0.0;
  for (unsigned c = p.width + 1; c <= 3 * p.width; c++) {
    double product = (double)own[c];
    for (unsigned m = 0; m < p.inputs; m++)
      product *= (double)__ldg(p.factors[m] + ((uint64_t)inputs[m] * p.ld + c));
    sum += c <= 2 * p.width ? -product : product;
  }
  return sum;
}

template <typename T, typename I>
__global__ void __launch_bounds__(32 * strip_warps) renew_targets(const block_problem<T, I> p) {
  const unsigned lane = threadIdx.x % 32;
  const uint64_t number = (uint64_t)blockIdx.x * strip_warps + threadIdx.x / 32;
  if (number >= p.strips)
    return;
  strip_traversal w = traversal_of(p, p.first_strip + number);
  while (look(p, &w, lane)) {
    const amped_row_piece_cuda piece = p.pieces[piece_of(w, lane)];
    if (lane < w.here) {
      const unsigned k = (unsigned)(w.base - p.first) + lane;
      const raw_nonzero<T, most_inputs> raw = load_nonzero<T, I, most_inputs>(p, k);
      const nonzero<T, I, most_inputs> x = decode<T, I, most_inputs>(p, raw, k);
      const uint64_t position = position_of(p, piece.row);
      p.kept[k] =
          p.makes ? (T)(((double)x.value - p.mean) * p.per_scale - model_of(p, x.input, position))
                  : (T)((double)p.kept[k] + change_of(p, x.input, position));
    }
    const bool ends = piece.first + piece.count == w.base + w.here;
    advance(&w, __shfl_sync(all_lanes, (int)ends, (int)w.here - 1) != 0);
  }
}

/* --- one column ------------------------------------------------------------------------------ */

/* Row of a block of one column (block_fit.h): now, bias, before, start. */
template <typename T> struct column_row { T now, bias, before, start; };
__device__ inline column_row<float> load_row(const float *row) {
  const float4 v = __ldg(reinterpret_cast<const float4 *>(row));
  return {v.x, v.y, v.z, v.w};
}
__device__ inline column_row<double> load_row(const double *row) {
  const double2 a = __ldg(reinterpret_cast<const double2 *>(row));
  const double2 b = __ldg(reinterpret_cast<const double2 *>(row) + 1);
  return {a.x, a.y, b.x, b.y};
}

/* Sums over nonzeros (row_fit.h) of p p, p t, t t, p and t, in T. With weights they are in double,
 * because a weight may have any size, and the sixth is of the weights; else open_row counts the
 * nonzeros. */
template <typename T, bool weighted> struct column_sums {
  typedef typename std::conditional<weighted, double, T>::type number;
  number v[weighted ? 6 : 5];
};

/* Number of sums that are in use. */
template <bool weighted, typename P> __device__ inline int sums_of(const P &p) {
  return weighted ? 6 : p.biased ? 5 : 3;
}

/* The row that is still open after a round. lanes: each lane's sums, in double, of rounds whose
 * nonzeros are all of this row. carry: sums of earlier rounds, the same in all lanes. */
template <bool weighted> struct open_row {
  double lanes[weighted ? 6 : 5];
  bool has_lanes;
  double carry[weighted ? 6 : 5];
  uint64_t count;
};

/* Unknowns of a row: a and, if biased, b. */
struct column_solution {
  double a, b;
  bool unique;
};

__device__ inline bool is_pivot(double x, double least) {
  return x > least && x <= DBL_MAX;
}

/* Solve [m00 m01; m01 m11] (a, b) = (r0, r1), as backend/row_fit.h defines it. m00, m11 and r0
 * include the penalties. */
template <typename P>
__device__ column_solution solve_column(const P &p, double m00, double m01, double m11, double r0,
                                        double r1, double weight, double old_a, double old_b) {
  const double eps = (p.biased ? 2.0 : 1.0) * DBL_EPSILON;
  column_solution x = {.a = 0.0, .b = 0.0, .unique = true};
  if (p.nonnegative) {
    const double rest = p.biased && m11 > 0.0 ? m00 - m01 * m01 / m11 : m00;
    const double right = p.biased && m11 > 0.0 ? r0 - m01 * r1 / m11 : r0;
    x.a = is_pivot(rest, eps * m00) ? right / rest
          : m00 > 0.0               ? (r0 - (p.biased ? m01 * old_b : 0.0)) / m00
                                    : old_a;
    x.a = x.a > 0.0 ? x.a : 0.0;
    x.b = p.biased ? (m11 > 0.0 ? (r1 - m01 * x.a) / m11 : old_b) : 0.0;
    return x;
  }
  if (is_pivot(m00, eps * m00)) {
    const double rest = m11 - m01 * m01 / m00;
    if (!p.biased) {
      x.a = r0 / m00;
      return x;
    }
    if (is_pivot(rest, eps * m11)) {
      x.b = (r1 - m01 * r0 / m00) / rest;
      x.a = (r0 - m01 * x.b) / m00;
      return x;
    }
  }
  /* The matrix is nearly v v^T, or 0: take the solution nearest to the prior. */
  const double prior = weight > 0.0 ? p.prior : 0.0;
  const bool first = !p.biased || m00 >= m11;
  const double pivot = first ? m00 : m11;
  x.unique = false;
  x.a = prior;
  if (!is_pivot(pivot, 0.0))
    return x;
  const double v0 = (first ? m00 : m01) / sqrt(pivot);
  const double v1 = p.biased ? (first ? m01 : m11) / sqrt(pivot) : 0.0;
  const double length = v0 * v0 + v1 * v1;
  const double by =
      (v0 * (r0 - m00 * prior) + v1 * (p.biased ? r1 - m01 * prior : 0.0)) / (length * length);
  x.a = prior + by * v0;
  x.b = by * v1;
  return x;
}

template <typename T> __device__ inline double most_number() {
  return sizeof(T) == sizeof(float) ? (double)FLT_MAX : DBL_MAX;
}

/* Solve and store the row with sums v; n as in row_fit.h. Adds to *sums. */
template <typename T, typename I>
__device__ void make_row(const block_problem<T, I> &p, uint64_t row, const double *v, double n,
                         amped_row_fit_sums *sums) {
  T *const to = p.own + row * p.ld;
  column_solution x = {.a = p.prior, .b = 0.0, .unique = true};
  double weight = 0.0;
  if (n > 0.0) {
    const double old_a = (double)to[0];
    const double old_b = p.biased ? (double)to[1] : 0.0;
    weight = penalty_of(p, n);
    x = solve_column(p, v[0] + weight, v[3], n + p.reg_bias, v[1] + weight * p.prior, v[4], weight,
                     old_a, old_b);
    if (x.unique) {
      x.a += p.overstep * (x.a - old_a);
      x.b += p.overstep * (x.b - old_b);
    }
    if (!(fabs(x.a) <= most_number<T>()) || !(fabs(x.b) <= most_number<T>()))
      x = {p.prior, 0.0, false};
  }
  const T a = (T)x.a;
  const T b = (T)x.b;
  to[0] = a;
  if (p.biased)
    to[1] = b;
  if (!(n > 0.0))
    return;
  const double at = (double)a;
  const double bt = (double)b;
  double squares = v[2] + at * (v[0] * at - 2.0 * v[1]);
  if (p.biased)
    squares += bt * (n * bt + 2.0 * v[3] * at - 2.0 * v[4]);
  squares = isnan(squares) ? (double)INFINITY : squares < 0.0 ? 0.0 : squares;
  sums->count += n;
  sums->squares += squares;
  sums->penalty += weight * (at - p.prior) * (at - p.prior);
  if (p.biased)
    sums->penalty += p.told_bias * bt * bt;
  sums->unsure += x.unique ? 0 : 1;
}

/* End a piece, whose sums v are complete: solve its row, or write the sums to its slot. */
template <typename T, typename I>
__device__ void close_piece(const block_problem<T, I> &p, const amped_row_piece_cuda &piece,
                            const double *v, double n, amped_row_fit_sums *sums) {
  if (piece.slot == AMPED_NO_SLOT) {
    make_row(p, piece.row, v, n, sums);
    return;
  }
  const equation_places at = places_of(1, p.biased);
  double *const to = p.slots + (uint64_t)piece.slot * p.slot_length;
  to[0] = v[0];
  to[at.count] = n;
  to[at.targets] = v[1];
  to[at.squares] = v[2];
  if (p.biased) {
    to[at.sum] = v[3];
    to[at.target] = v[4];
  }
}

/* Update the target of nonzero k, except in a first block. Returns what it adds to its row's sums:
 * zeros unless `on`. */
template <typename T, typename I, int N, bool weighted>
__device__ inline column_sums<T, weighted> take_nonzero(const block_problem<T, I> &p, unsigned k,
                                                        bool on, T before, T start) {
  const raw_nonzero<T, N> raw = load_nonzero<T, I, N>(p, k);
  const nonzero<T, I, N> x = decode<T, I, N>(p, raw, k);
  column_row<T> row = load_row(p.factors[0] + (uint64_t)x.input[0] * p.ld);
#pragma unroll
  for (int m = 1; m < N; m++)
    if (m < (int)p.inputs) {
      const column_row<T> next = load_row(p.factors[m] + (uint64_t)x.input[m] * p.ld);
      row.now *= next.now;
      row.bias += next.bias;
      row.before *= next.before;
      row.start *= next.start;
    }
  T t = __ldcs(p.kept + k);
  if (!p.makes) {
    t += start * row.start - before * row.before;
    __stcs(p.kept + k, t);
  }
  if (p.biased)
    t -= row.bias;
  if (!on)
    return {};
  if constexpr (weighted) {
    const double w = (double)__ldg(p.weights + k);
    const double product = (double)row.now;
    const double wt = w * (double)t;
    return {{w * product * product, wt * product, wt * (double)t, w * product, wt, w}};
  } else {
    return {{row.now * row.now, row.now * t, t * t, row.now, t}};
  }
}

/* Prefix sums over the lanes from `begin` to this one. */
template <typename T, bool weighted>
__device__ inline void scan(column_sums<T, weighted> *s, int values, unsigned begin,
                            unsigned lane) {
#pragma unroll
  for (int by = 1; by < 32; by *= 2) {
#pragma unroll
    for (int i = 0; i < (weighted ? 6 : 5); i++)
      if (i < values) {
        const auto other = __shfl_up_sync(all_lanes, s->v[i], (unsigned)by);
        if (lane >= begin + (unsigned)by)
          s->v[i] += other;
      }
  }
}

/* Add the lanes' sums of the open row to its carry. */
template <bool weighted> __device__ inline void fold(open_row<weighted> *r, int values) {
  for (int i = 0; i < values && r->has_lanes; i++) {
    r->carry[i] += sum_of_lanes(r->lanes[i]);
    r->lanes[i] = 0.0;
  }
  r->has_lanes = false;
}

/* Handle a round of nonzeros among which pieces end or begin. on: one bit per lane whose nonzero
 * takes part. */
template <typename T, typename I, bool weighted>
__device__ void close_pieces(const block_problem<T, I> &p, const strip_traversal &w,
                             const amped_row_piece_cuda &piece, column_sums<T, weighted> s,
                             unsigned on, open_row<weighted> *open, amped_row_fit_sums *sums,
                             unsigned lane) {
  const int values = sums_of<weighted>(p);
  const unsigned upto = (2U << lane) - 1U;
  const unsigned marks = (w.begins | 1U) & upto;
  const unsigned begin = 31U - (unsigned)__clz((int)marks);
  const uint64_t k = w.base + lane;
  const bool is_last = lane < w.here && k + 1 == piece.first + piece.count;
  double total[weighted ? 6 : 5] = {};
  fold(open, values);
  scan(&s, values, begin, lane);
#pragma unroll
  for (int i = 0; i < (weighted ? 6 : 5); i++)
    if (i < values)
      total[i] = (double)s.v[i] + (begin == 0 ? open->carry[i] : 0.0);
  const uint64_t count =
      (uint64_t)__popc(on & upto & ~((1U << begin) - 1U)) + (begin == 0 ? open->count : 0);
  if (is_last)
    close_piece(p, piece, total, weighted ? total[weighted ? 5 : 0] : (double)count, sums);
  /* The last lane's piece stays open, unless it ended. */
  const int end = (int)w.here - 1;
  const bool closed = __shfl_sync(all_lanes, (int)is_last, end) != 0;
  open->count = closed ? 0 : (uint64_t)__shfl_sync(all_lanes, (unsigned long long)count, end);
  for (int i = 0; i < values; i++) {
    const double rest = __shfl_sync(all_lanes, total[i], end);
    open->carry[i] = closed ? 0.0 : rest;
  }
}

template <typename T, typename I, int N, bool weighted>
__global__ void __launch_bounds__(32 * strip_warps) fit_column(const block_problem<T, I> p) {
  const unsigned lane = threadIdx.x % 32;
  const uint64_t number = (uint64_t)blockIdx.x * strip_warps + threadIdx.x / 32;
  if (number >= p.strips)
    return;
  const uint64_t strip = p.first_strip + number;
  strip_traversal w = traversal_of(p, strip);
  open_row<weighted> open = {};
  amped_row_fit_sums sums = {0.0, 0.0, 0.0, 0};
  while (look(p, &w, lane)) {
    const amped_row_piece_cuda piece = p.pieces[piece_of(w, lane)];
    const unsigned k = (unsigned)(w.base - p.first) + lane;
    const bool here = lane < w.here;
    const bool on = here && !(p.held != nullptr && __ldg(p.held + k / 32) >> k % 32 & 1U);
    const unsigned taken = __ballot_sync(all_lanes, on);
    column_sums<T, weighted> s = {};
    if (here) {
      const T *const own = p.rows + position_of(p, piece.row) * p.ld;
      s = take_nonzero<T, I, N, weighted>(p, k, on, own[2], own[3]);
    }
    const bool ends = __shfl_sync(all_lanes, (int)(piece.first + piece.count == w.base + w.here),
                                  (int)w.here - 1) != 0;
    if (w.begins == 0 && !ends) {
      for (int i = 0; i < (weighted ? 6 : 5); i++)
        open.lanes[i] += (double)s.v[i];
      open.has_lanes = true;
      open.count += (uint64_t)__popc(taken);
    } else {
      close_pieces(p, w, piece, s, taken, &open, &sums, lane);
    }
    advance(&w, ends);
  }
  sums.squares = sum_of_lanes(sums.squares);
  sums.penalty = sum_of_lanes(sums.penalty);
  sums.count = sum_of_lanes(sums.count);
  sums.unsure = (uint64_t)sum_of_lanes((double)sums.unsure);
  if (lane == 0)
    p.sums[strip] = sums;
}

/* --- columns --------------------------------------------------------------------------------- */

template <typename T>
__global__ void __launch_bounds__(block_threads)
    take_columns(T *factor, T *rows, const amped_block_take_cuda_args a) {
  const int width = a.width;
  for (uint64_t i = thread_number(); i < a.positions; i += grid_threads()) {
    T *const from = factor + i * a.factor_ld;
    T *const row = rows + i * a.ld;
    T *const before = row + width + 1;
    T *const start = before + width;
    if (a.bias > 0 && a.old_count > 0)
      from[a.bias] = row[a.old_count];
    for (int c = 0; c < width; c++) {
      before[c] = c < a.old_count ? row[c] : T(0);
      if (c < a.old_count)
        from[a.old_first + c] = row[c];
    }
    row[width] = T(0);
    for (int c = 0; c < width; c++)
      row[c] = start[c] = c < a.count ? from[a.first + c] : T(0);
    if (a.bias > 0 && a.count > 0)
      row[a.count] = from[a.bias];
  }
}

/* --- launches -------------------------------------------------------------------------------- */

amped_status blocks_of(uint64_t strips, unsigned *out) {
  const uint64_t count = amped_ceil_div(strips, (uint64_t)strip_warps);
  *out = (unsigned)count;
  return count <= INT32_MAX
             ? AMPED_OK
             : amped_error(AMPED_FAILED, "CUDA",
                           "%" PRIu64 " thread blocks are too many for one launch; use more GPUs",
                           count);
}

template <typename T, typename I>
amped_status launch_targets(const amped_block_kernel_cuda_args *a) {
  block_problem<T, I> p = {};
  unsigned blocks = 0;
  describe_block(&p, a);
  AMPED_TRY(blocks_of(p.strips, &blocks));
  renew_targets<T, I><<<blocks, 32 * strip_warps, 0, a->fit->stream>>>(p);
  AMPED_CUDA_LAUNCHED("the kernel of targets");
  return AMPED_OK;
}

template <typename T, typename I, int N, bool weighted>
amped_status launch_column(const amped_block_kernel_cuda_args *a) {
  block_problem<T, I> p = {};
  unsigned blocks = 0;
  describe_block(&p, a);
  AMPED_TRY(blocks_of(p.strips, &blocks));
  fit_column<T, I, N, weighted><<<blocks, 32 * strip_warps, 0, a->fit->stream>>>(p);
  AMPED_CUDA_LAUNCHED("the kernel of a column");
  return AMPED_OK;
}

template <typename T, typename I, bool weighted>
amped_status launch_column_for_order(const amped_block_kernel_cuda_args *a) {
  switch (a->fit->inputs) {
  case 2:
    return launch_column<T, I, 2, weighted>(a);
  case 3:
    return launch_column<T, I, 3, weighted>(a);
  default:
    return launch_column<T, I, most_inputs, weighted>(a);
  }
}

template <typename T, typename I>
amped_status launch_column_for_weights(const amped_block_kernel_cuda_args *a) {
  return a->fit->weights != nullptr ? launch_column_for_order<T, I, true>(a)
                                    : launch_column_for_order<T, I, false>(a);
}

} // namespace

#define FOR_TYPES(function, a)                                                                     \
  ((a)->fit->value_type == AMPED_F32                                                               \
       ? ((a)->fit->index_type == AMPED_U32 ? function<float, index32>(a)                          \
                                            : function<float, index64>(a))                         \
       : ((a)->fit->index_type == AMPED_U32 ? function<double, index32>(a)                         \
                                            : function<double, index64>(a)))

amped_status amped_block_targets_cuda(const amped_block_kernel_cuda_args *a) {
  return a->fit->strips == 0 ? AMPED_OK : FOR_TYPES(launch_targets, a);
}

amped_status amped_block_column_cuda(const amped_block_kernel_cuda_args *a) {
  return a->fit->strips == 0 ? AMPED_OK : FOR_TYPES(launch_column_for_weights, a);
}

amped_status amped_block_take_cuda(const amped_block_take_cuda_args *a) {
  if (a->positions == 0)
    return AMPED_OK;
  if (a->value_type == AMPED_F32)
    take_columns<<<blocks_for(a->positions), block_threads, 0, a->stream>>>(
        static_cast<float *>(a->factor), static_cast<float *>(a->rows), *a);
  else
    take_columns<<<blocks_for(a->positions), block_threads, 0, a->stream>>>(
        static_cast<double *>(a->factor), static_cast<double *>(a->rows), *a);
  AMPED_CUDA_LAUNCHED("the kernel of columns");
  return AMPED_OK;
}
