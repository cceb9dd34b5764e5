/* The argument of the kernels that fit rows, and functions that these kernels share. */
#ifndef AMPED_FIT_PROBLEM_CUDA_CUH
#define AMPED_FIT_PROBLEM_CUDA_CUH

#include "cuda/complete/row_kernels_cuda.h"
#include "cuda/sorted/decode_cuda.cuh"

namespace {

constexpr int most_inputs = AMPED_MAX_ORDER - 1;
constexpr unsigned all_lanes = 0xffffffffU;

/* Argument of a kernel. Nonzeros are numbered from the problem's first one, pieces from the copy's
 * first one. */
template <typename T, typename I> struct fit_problem : packed_nonzeros<T, I> {
  const T *factors[most_inputs];
  T *own; /* first row of the rank's block of the mode's factor */
  const uint32_t *held;
  const T *weights;
  double implicit;
  const double *base;
  const double *empty;
  amped_row_fit_sums of_empty;
  unsigned inputs, components;
  uint64_t ld;
  bool biased, nonnegative;
  double mean, per_scale;
  float means[2]; /* mean as two floats: a value near it minus both is exact */
  float per_scale_float;
  double overstep;
  double reg, reg_power, reg_bias, prior; /* reg: multiplied by the mode's pull */
  bool is_block;                          /* rows have other columns after their own */
  double told_bias;                       /* reg_bias; 0 if the sums leave biases out */
  const amped_row_piece_cuda *pieces;
  const uint64_t *strip_ends;
  uint64_t first_strip, strips;
  unsigned few; /* rows of at most this many nonzeros have their own kernel */
  double *slots;
  unsigned slot_length; /* numbers of a row's equations */
  T *history;           /* rows of slot_length numbers (row_fit.h); NULL: none */
  const uint64_t *history_at;
  const double *history_keep;
  bool absorbs;
  uint8_t *failed;          /* one byte per piece; 1: a warp could not solve it */
  amped_row_fit_sums *sums; /* one entry per strip, or per thread block */
  /* members for thread blocks only */
  uint64_t first_piece, end_piece;
  bool only_failed;
  const amped_long_row_cuda *long_rows;
  uint64_t first_row, end_row; /* range in long_rows; if `equations` is set, in the block's rows */
  double *equations;
  double *scratch;
  uint64_t scratch_stride;
};

template <typename T, typename I>
void describe_fit(fit_problem<T, I> *p, const amped_row_kernel_cuda_args *a) {
  if (a->packed != nullptr) {
    describe_copy(p, a->packed);
    for (int m = 0; m < a->inputs; m++)
      describe_input(p, &a->packed->packing, m, m);
    p->held = a->held != nullptr ? a->held + a->packed->first / 32 : nullptr;
    p->weights =
        a->weights != nullptr ? static_cast<const T *>(a->weights) + a->packed->first : nullptr;
  }
  for (int m = 0; m < a->inputs; m++)
    p->factors[m] = static_cast<const T *>(a->factors[m]);
  p->own = static_cast<T *>(a->own);
  p->implicit = a->fit->implicit;
  p->base = a->base;
  p->empty = a->empty;
  p->of_empty = a->of_empty;
  p->inputs = (unsigned)a->inputs;
  p->components = (unsigned)a->components;
  p->ld = a->ld;
  p->biased = a->fit->biased;
  p->nonnegative = a->fit->nonnegative;
  p->overstep = a->fit->overstep;
  p->mean = a->fit->mean;
  p->per_scale = 1.0 / a->fit->scale;
  p->means[0] = (float)p->mean;
  p->means[1] = (float)(p->mean - (double)p->means[0]);
  p->per_scale_float = (float)p->per_scale;
  p->reg = a->fit->reg * a->fit->pull[a->mode];
  p->reg_power = a->fit->reg_power;
  p->reg_bias = a->fit->reg_bias;
  p->prior = a->fit->prior[a->mode];
  p->is_block = a->is_block;
  p->told_bias = a->hides_biases ? 0.0 : a->fit->reg_bias;
  p->pieces = a->pieces;
  p->strip_ends = a->strip_ends;
  p->first_strip = a->first_strip;
  p->strips = a->strips;
  p->slots = a->slots;
  p->slot_length = (unsigned)amped_equation_length(a->components, a->fit->biased);
  if (a->fit->history != nullptr) {
    p->history = static_cast<T *>(a->fit->history->equations);
    p->history_at = a->fit->history->at;
    p->history_keep = a->fit->history->keep;
    p->absorbs = a->fit->absorb;
  }
  p->failed = a->failed;
  p->sums = a->sums;
  p->first_piece = a->first_piece;
  p->end_piece = a->end_piece;
  p->only_failed = a->only_failed;
  p->long_rows = a->long_rows;
  p->first_row = a->first_row;
  p->end_row = a->end_row;
  p->equations = a->equations;
  p->scratch = a->scratch;
  p->scratch_stride = a->scratch_bytes / sizeof(double);
}

/* First piece of a strip, in at .. end, that is a whole row of at most p.few nonzeros. is_dual =
 * false: the first other piece. Returns `end` if there is none. */
template <typename P>
__device__ inline unsigned next_piece(const P &p, const amped_row_piece_cuda *pieces, unsigned at,
                                      unsigned end, bool is_dual, unsigned lane) {
  for (; at < end; at += 32) {
    const amped_row_piece_cuda &piece = pieces[at + lane < end ? at + lane : end - 1];
    const bool has_dual = piece.slot == AMPED_NO_SLOT && piece.count <= p.few;
    const unsigned found = __ballot_sync(all_lanes, at + lane < end && has_dual == is_dual);
    if (found != 0)
      return at + (unsigned)__ffs((int)found) - 1;
  }
  return end;
}

/* Contribution of nonzero k with value y to a row's sums (row_fit.h): its weight; its target,
 * multiplied by the weight; its part of tt; its part of n. */
struct fit_term {
  double weight, target, square, count;
};
template <typename P> __device__ inline fit_term term_of_weight(const P &p, double y, double w) {
  if (p.implicit > 0.0)
    return {p.implicit * y, 1.0 + p.implicit * y, 1.0 + p.implicit * y, 1.0};
  return {w, w * y, w * y * y, w};
}
template <typename P> __device__ inline fit_term term_of(const P &p, double y, unsigned k) {
  return term_of_weight(p, y, p.weights != nullptr ? (double)p.weights[k] : 1.0);
}

/* Penalty L of a row with n = count (row_fit.h). */
template <typename P> __device__ inline double penalty_of(const P &p, double count) {
  const double power = p.reg_power;
  return p.reg * (power == 0.5   ? sqrt(count)
                  : power == 0.0 ? 1.0
                  : power == 1.0 ? count
                                 : pow(count, power));
}

/* Places of the numbers in packed equations of n components (row_fit.h). */
__device__ inline unsigned place_of_pair(unsigned i, unsigned j) {
  return i >= j ? i * (i + 1) / 2 + j : j * (j + 1) / 2 + i;
}
struct equation_places {
  unsigned sum, count, targets, target, squares;
};
__device__ inline equation_places places_of(unsigned n, bool biased) {
  equation_places at;
  at.sum = n * (n + 1) / 2;
  at.count = at.sum + (biased ? n : 0);
  at.targets = at.count + 1;
  at.target = at.targets + n;
  at.squares = at.target + (biased ? 1 : 0);
  return at;
}

/* History of a row of the block: the equations of its earlier nonzeros. */
template <typename T, typename I>
__device__ inline T *history_of(const fit_problem<T, I> &p, uint64_t row) {
  return p.history + p.history_at[row] * p.slot_length;
}

template <typename T> __device__ inline T sum_of_lanes(T x) {
  for (int i = 16; i > 0; i /= 2)
    x += __shfl_xor_sync(all_lanes, x, i);
  return x;
}

/* Add a kernel's sums over its rows to the strip's sums, at the kernel's end. squares, penalty: the
 * lane's shares; count: the same in all lanes. */
template <typename P>
__device__ inline void add_to_strip(const P &p, uint64_t strip, double count, double squares,
                                    double penalty, unsigned lane) {
  squares = sum_of_lanes(squares);
  penalty = sum_of_lanes(penalty);
  if (lane == 0) {
    p.sums[strip].count += count;
    p.sums[strip].squares += squares;
    p.sums[strip].penalty += penalty;
  }
}

/* Thread blocks on a multiprocessor, as the compute capability allows: `wanted`, or the most. */
#if defined __CUDA_ARCH__ && (__CUDA_ARCH__ == 860 || __CUDA_ARCH__ == 870)
constexpr int most_blocks = 16;
#elif defined __CUDA_ARCH__ && (__CUDA_ARCH__ == 890 || __CUDA_ARCH__ >= 1200)
constexpr int most_blocks = 24;
#else
constexpr int most_blocks = 32;
#endif
template <int wanted> constexpr int blocks_that_fit = wanted < most_blocks ? wanted : most_blocks;

/* Launch a kernel with one strip per thread block of one warp: strips differ, and a block of more
 * warps would keep its place until the last of them ends. bytes: shared memory of a block. */
template <typename P>
amped_status launch_strips(void (*kernel)(P), const P &p, unsigned bytes, cudaStream_t stream,
                           const char *what) {
  if (p.strips > INT32_MAX)
    return amped_error(AMPED_FAILED, "CUDA",
                       "%" PRIu64 " thread blocks are too many for one launch; use more GPUs",
                       p.strips);
  AMPED_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes));
  kernel<<<(unsigned)p.strips, 32, bytes, stream>>>(p);
  AMPED_CUDA_LAUNCHED(what);
  return AMPED_OK;
}

} // namespace

#endif
