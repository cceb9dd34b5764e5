/* The sorted MTTKRP kernel and its launch, as templates. One .cu file for each value type
 * instantiates them (mttkrp_f32.cu, mttkrp_f64.cu), so that they compile in parallel.
 *
 * Launch shape. A factor row is `stride` vectors of 16 bytes. G lanes (4 to 32) form a group; each
 * lane owns one vector of a row. Rows longer than 32 vectors are cut into columns of 32 vectors,
 * and each column has its own thread blocks. A thread block works on one block of the schedule (an
 * iSMp). Each of its groups works on a strip: consecutive nonzeros of that block.
 *
 * Shared-memory tiles. If a copy is ordered by such tiles, a thread block first loads its tile to
 * shared memory, and gathers rows of that factor from there. A shuffle costs as much as such a
 * gather, so a position in the tile shares one word with the position of another input.
 *
 * Inside a strip. Each of the G lanes loads one nonzero: coalesced, and a step ahead, so that no
 * lane waits for it. Groups smaller than a warp copy four nonzeros per lane to shared memory
 * instead: the L2 cache answers requests of up to 128 bytes, and would get too many small ones
 * (docs/decisions/042-requests-not-bytes.md). The lanes decode their nonzeros and exchange
 * positions and values by shuffles. They gather several factor rows before they use the first. Row
 * bits are the same for all lanes. A warp tests them one by one only if a row begins. The sum of an
 * output row stays in registers until the next row begins. Measurements:
 * docs/decisions/017-kernel-batches.md.
 *
 * Precision. Float sums extend over at most fold_nonzeros nonzeros, then go into a second sum of
 * the strip. With u = 2^-24 a strip's error is below (fold_nonzeros + AMPED_LONGEST_STRIP /
 * fold_nonzeros + order) u = 1e-5 of the sum of magnitudes. Partial sums and carry rows are added
 * in double. Sums of tiles are added in float: each tile of an output adds u.
 *
 * Rows that strips and blocks share. The strip in which a row begins stores the row. A later strip
 * holds a partial sum of it. A thread block adds the partial sums of rows that begin in the block.
 * One row may have begun in an earlier block, the predecessor; the block leaves the sum of this row
 * in memory as its carry row. The last block of a shared row to finish adds all carry rows, in
 * their order and in double.
 *
 * Ratios. With P each value is first divided by the model at its nonzero (backend/ratio.h): a dot
 * product of the output's own row with the product of the gathered rows, over the lanes of a group.
 * The own row is loaded a row ahead. A lane keeps the model of one nonzero of the group's G, so
 * that a warp takes its logarithms together. Rows in several columns gather the other columns' rows
 * for the dot product, too.
 *
 * Tiles. From the second tile of an output on, sums are added to the output. A block first waits
 * for the blocks of the preceding tile that may work on the same rows. Every output element
 * therefore has one order of additions: no races, and the same bits every time. */
#ifndef AMPED_MTTKRP_SORTED_CUH
#define AMPED_MTTKRP_SORTED_CUH

#include <cuda_pipeline.h>

#include "cuda/device/ptx_cuda.cuh"
#include "cuda/device/vectors_cuda.cuh"
#include "cuda/sorted/decode_cuda.cuh"
#include "cuda/sorted/mttkrp_cuda.h"

extern "C" amped_status amped_mttkrp_sorted_f32(const amped_mttkrp_cuda_args *args);
extern "C" amped_status amped_mttkrp_sorted_f64(const amped_mttkrp_cuda_args *args);
extern "C" amped_status amped_ratio_sorted_f32(const amped_mttkrp_cuda_args *args);
extern "C" amped_status amped_ratio_sorted_f64(const amped_mttkrp_cuda_args *args);

namespace {

constexpr unsigned fold_nonzeros = 128;
constexpr unsigned whole_warp = 0xffffffffU;

/* The argument of the kernel. Pointers to packed nonzeros, row bits and `starts` begin at the
 * launch's first nonzero, number `first` of the copy. Other pointers and `blocks` are the whole
 * copy's. Inputs are in the kernel's order (describe_inputs). */
template <typename T, typename I> struct sorted_problem : packed_nonzeros<T, I> {
  typedef typename vector_of<T>::type vector;
  unsigned strip; /* nonzeros per group: whole packs */
  const vector *factors[AMPED_MAX_ORDER - 1];
  amped_hint_cuda hints[AMPED_MAX_ORDER - 1];
  vector *output;
  uint64_t output_stride; /* vectors between outputs of tiles */
  unsigned outputs;
  unsigned stride;         /* vectors per row */
  unsigned columns;        /* thread blocks per block of the schedule */
  unsigned smem_rows;      /* rows of a shared-memory tile */
  unsigned smem_positions; /* rows of the factor that the tile is cut from */
  unsigned smem_shift; /* a position in the tile lies above the position of input 1, in one word */
  unsigned smem_mask;  /* mask of the position of input 1 */
  const amped_block_cuda *blocks;
  unsigned first_block;
  bool tiled;
  vector *carries; /* one carry row per block */
  /* Two arrays with an entry for each block and column: the number of finished blocks that share
   * the block's last row, and the turn in which the block finished. */
  unsigned *arrived;
  unsigned *finished;
  unsigned *ticket; /* number of blocks that have begun, in all launches */
  unsigned ticket_base;
  /* Parts of the rows. */
  int parts;
  unsigned part_ends[AMPED_MAX_PARTS]; /* the first block after each part */
  unsigned *done;                      /* number of finished blocks of each part */
  unsigned *turns;                     /* pinned: the last turn in which each part was finished */
  unsigned turn;                       /* number of this MTTKRP */
};

/* The argument of the kernel of ratios. */
template <typename T, typename I> struct ratio_problem : sorted_problem<T, I> {
  const typename vector_of<T>::type *own;     /* mode's factor */
  const typename vector_of<T>::type *weights; /* one row */
  uint64_t own_first;                         /* position of the first own row */
  uint64_t own_rows;
  const I *shared; /* positions of the output's rows after own_rows */
  T least;
  I row_count; /* entries of the row list */
  amped_ratio_sums *sums;
};
template <typename T, typename I, bool P> struct problem_of { typedef sorted_problem<T, I> type; };
template <typename T, typename I> struct problem_of<T, I, true> {
  typedef ratio_problem<T, I> type;
};

/* --- row lists ------------------------------------------------------------------------------- */

/* Returns the entry in the row list of nonzero k, which begins a pack. */
template <typename T, typename I>
__device__ inline I entry_of(const sorted_problem<T, I> &p, unsigned k) {
  return __ldg(p.starts + k / (unsigned)p.packing.pack);
}

/* Returns the row bits of 32 nonzeros from k on; bits after nonzero `last` are zero. */
template <typename T, typename I>
__device__ inline uint32_t row_bits(const sorted_problem<T, I> &p, unsigned k, unsigned last) {
  const uint32_t bits = k <= last ? __ldg(p.bits + k / 32) : 0U;
  return k <= last && last - k < 31 ? bits & ((2U << (last - k)) - 1U) : bits;
}

/* --- gathering and storing ------------------------------------------------------------------- */

/* Cache hints of a kernel's instantiation. They cost registers, and cannot all be combined. */
typedef enum hint_level {
  NO_HINTS,
  L2_HINTS,  /* hints for every input, in sorted_problem */
  SMEM_FIRST /* the tile of input 0 lies in shared memory */
} hint_level;

#if __CUDA_ARCH__ >= 800
__device__ inline uint64_t policy_of(amped_hint_cuda hint) {
  uint64_t policy = 0;
  if (hint == AMPED_HINT_EVICT_LAST)
    asm("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
  else if (hint == AMPED_HINT_EVICT_FIRST)
    asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
  else
    asm("createpolicy.fractional.L2::evict_normal.b64 %0, 1.0;" : "=l"(policy));
  return policy;
}

__device__ inline float4 gather(const float4 *row, uint64_t policy) {
  float4 v;
  asm("ld.global.nc.L2::cache_hint.v4.f32 {%0, %1, %2, %3}, [%4], %5;"
      : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
      : "l"(row), "l"(policy));
  return v;
}
__device__ inline double2 gather(const double2 *row, uint64_t policy) {
  double2 v;
  asm("ld.global.nc.L2::cache_hint.v2.f64 {%0, %1}, [%2], %3;"
      : "=d"(v.x), "=d"(v.y)
      : "l"(row), "l"(policy));
  return v;
}
#else /* older GPUs have no hints */
__device__ inline uint64_t policy_of(amped_hint_cuda) {
  return 0;
}
template <typename vector> __device__ inline vector gather(const vector *row, uint64_t) {
  return __ldg(row);
}
#endif

/* Returns a row of a factor whose rows have `bytes` bytes. */
template <typename vector>
__device__ inline const vector *row_at(const vector *from, index32 row, unsigned bytes) {
  return row_address(from, row, bytes);
}
template <typename vector>
__device__ inline const vector *row_at(const vector *from, index64 row, unsigned bytes) {
  return from + row * (bytes / sizeof(vector));
}

/* Add v to *to, which no other thread changes at this time. The thread does not wait for the old
 * value. The cache evicts the line first, because it is not needed again soon. */
__device__ inline void add_at(float4 *to, float4 v) {
#if __CUDA_ARCH__ >= 900
  asm volatile("red.global.add.L2::cache_hint.v4.f32 [%0], {%1, %2, %3, %4}, %5;"
               :
               : "l"(to), "f"(v.x), "f"(v.y), "f"(v.z), "f"(v.w),
                 "l"(policy_of(AMPED_HINT_EVICT_FIRST))
               : "memory");
#else
  atomicAdd(&to->x, v.x);
  atomicAdd(&to->y, v.y);
  atomicAdd(&to->z, v.z);
  atomicAdd(&to->w, v.w);
#endif
}
__device__ inline void add_at(double2 *to, double2 v) {
  atomicAdd(&to->x, v.x);
  atomicAdd(&to->y, v.y);
}

/* True if a block has finished in this MTTKRP. Everything that it wrote is then visible. */
__device__ inline bool has_finished(const unsigned *finished, unsigned turn) {
  return load_acquire(finished) == turn;
}

/* Wait, with all threads, until the earlier blocks that may work on the same rows have finished.
 * They began before this block, because blocks take their numbers as they begin. */
template <typename T, typename I>
__device__ inline void wait_for(const sorted_problem<T, I> &p, unsigned before, unsigned befores,
                                unsigned tile_column) {
  for (unsigned i = threadIdx.x; i < befores; i += blockDim.x)
    while (!has_finished(p.finished + (before + i) * p.columns + tile_column, p.turn))
      __nanosleep(64);
  __syncthreads();
}

/* --- staging --------------------------------------------------------------------------------- */

/* Groups copy their nonzeros to shared memory, four per lane at a time. Whole warps do not, because
 * their requests are large anyway. Kernels in double with a shared-memory tile do not, because
 * their shared memory is full. */
template <typename T, int G, hint_level H> struct staging {
  static constexpr bool is_used = G <= 16 && (H != SMEM_FIRST || sizeof(T) == sizeof(float));
};
template <typename T, int G> struct stage {
  static constexpr unsigned nonzeros = 4 * G;
  static constexpr unsigned highs = nonzeros * 4;  /* byte offset of second planes */
  static constexpr unsigned values = nonzeros * 8; /* byte offset of values, after planes of 8
                                                      bytes */
  /* The padding keeps lanes of neighbouring groups in different banks. */
  static constexpr unsigned bytes = values + nonzeros * sizeof(T) + nonzeros;
};

/* Copy elements k .. k+3, of which `count` exist; the others become zero. */
template <typename U>
__device__ inline void copy_four(const void *from, unsigned k, unsigned count, char *to) {
  constexpr unsigned each = sizeof(U) > 4 ? 16 / sizeof(U) : 4; /* per copy, of at most 16 bytes */
#pragma unroll
  for (unsigned i = 0; i < 4; i += each) {
    const unsigned there = count > i ? min(count - i, each) : 0;
    __pipeline_memcpy_async(to + i * sizeof(U),
                            static_cast<const U *>(from) + (there > 0 ? k + i : k),
                            each * sizeof(U), (each - there) * sizeof(U));
  }
}

/* Begin to copy the group's nonzeros from `first` on, up to `last`. */
template <typename T, typename I, int G>
__device__ inline void begin_stage(const sorted_problem<T, I> &p, unsigned first, unsigned last,
                                   char *to) {
  const unsigned at = threadIdx.x % G * 4;
  const unsigned count = first + at <= last ? min(last - first - at + 1, 4U) : 0;
  const unsigned k = count > 0 ? first + at : first / 4 * 4;
  if (p.layout <= NUMBER_48) {
    copy_four<uint32_t>(p.planes[0], k, count, to + at * 4);
    if (p.layout == NUMBER_48)
      copy_four<uint16_t>(p.planes[1], k, count, to + stage<T, G>::highs + at * 2);
  } else {
    copy_four<uint64_t>(p.planes[0], k, count, to + at * 8);
  }
  if (!p.packing.coded)
    copy_four<T>(p.values, k, count, to + stage<T, G>::values + at * sizeof(T));
  __pipeline_commit();
}

/* Returns nonzero number i of a stage, which is nonzero k of the copy. */
template <typename T, typename I, int G, int N>
__device__ inline raw_nonzero<T, N> from_stage(const sorted_problem<T, I> &p, const char *from,
                                               unsigned i, unsigned k) {
  raw_nonzero<T, N> raw;
  raw.high = 0;
  if (p.layout <= NUMBER_48) {
    raw.low = reinterpret_cast<const unsigned *>(from)[i];
    if (p.layout == NUMBER_48)
      raw.high = reinterpret_cast<const unsigned short *>(from + stage<T, G>::highs)[i];
  } else {
    const uint2 word = reinterpret_cast<const uint2 *>(from)[i];
    raw.low = word.x;
    raw.high = word.y;
    if constexpr (raw_nonzero<T, N>::has_second)
      raw.second[0] = p.layout == NUMBER_LONG ? word_of(p, 1, k) : 0;
  }
  if (!p.packing.coded)
    raw.value = reinterpret_cast<const T *>(from + stage<T, G>::values)[i];
  return raw;
}

/* --- parts of the kernel --------------------------------------------------------------------- */

/* Tuning of a kernel for N input modes: nonzeros whose rows are in flight, and thread blocks per
 * multiprocessor, so that registers can hold these rows. (Kernels in double with shared-memory
 * tiles spill a few bytes.) Measurements: docs/decisions/017-kernel-batches.md. */
constexpr int generic_inputs = AMPED_MAX_ORDER - 1;
template <int N> struct tuning {
  static constexpr int ahead = N == 2 ? 4 : 2;
  static constexpr int blocks = N <= 3 ? 4 : N == 4 ? 3 : 2;
};

/* Threads of a block: twice the number if they share a tile in shared memory. Ratios need more
 * registers, so fewer blocks share a multiprocessor. */
template <int N, hint_level H, bool P> struct shape {
  static constexpr int threads = H == SMEM_FIRST ? AMPED_SMEM_THREADS : AMPED_BLOCK_THREADS;
  static constexpr int most = tuning<N>::blocks * AMPED_BLOCK_THREADS / threads;
  static constexpr int blocks = P && most > 2 ? most - 1 : most;
};

/* --- ratios ---------------------------------------------------------------------------------- */

/* Returns the address of the factor's row for row `row` of the output. */
template <typename T, typename I>
__device__ inline const typename vector_of<T>::type *own_row(const ratio_problem<T, I> &p, I row) {
  const uint64_t position =
      row < p.own_rows ? p.own_first + row : (uint64_t)__ldg(p.shared + (row - p.own_rows));
  return p.own + position * p.stride;
}

/* Returns in lane l of a group of G the sum over the group's lanes of x[l / (G / U)]. A lane halves
 * its sums with each shuffle, so U sums take U - 1 + log2(G / U) of them. */
template <typename T, int G, int U> __device__ inline T sums_of_lanes(T (&x)[U]) {
#pragma unroll
  for (int half = G / 2, sums = U / 2; half > 0; half /= 2, sums /= 2) {
    const bool upper = (threadIdx.x & (unsigned)half) != 0;
#pragma unroll
    for (int i = 0; i < sums; i++) {
      const T sent = upper ? x[i] : x[sums + i];
      x[i] = (upper ? x[sums + i] : x[i]) + __shfl_xor_sync(whole_warp, sent, half, G);
    }
    if (sums == 0)
      x[0] += __shfl_xor_sync(whole_warp, x[0], half, G);
  }
  return x[0];
}

/* A thread's sums. Its nonzeros below 0 and those that are not whole share a word: a strip has at
 * most AMPED_LONGEST_STRIP. */
struct thread_sums {
  double values;
  double logs;
  unsigned counts;
  unsigned low;
};
constexpr unsigned fraction = 1U << 16;
static_assert(AMPED_LONGEST_STRIP < fraction, "counts of a strip have 16 bits");

/* Add the sums of a nonzero x with the model m, which is at least `least`. The logarithm is as
 * exact as m is. */
template <typename T> __device__ inline void add_ratio(thread_sums &sums, T x, T m, T least) {
  sums.values += (double)x;
  sums.counts += (x < T(0) ? 1U : 0U) + (x != floor(x) ? fraction : 0U);
  if (x > T(0)) {
    sums.logs += (double)x * (double)log(x / m);
    sums.low += m <= least ? 1U : 0U;
  }
}

/* Add up the threads' sums: of each warp, then of the warps in their order, into *to. space:
 * shared memory of five doubles per warp. */
template <int block_threads>
__device__ inline void join_ratios(const thread_sums &thread, volatile double *space,
                                   amped_ratio_sums *to) {
  amped_ratio_sums own = {thread.values, thread.logs, (double)(thread.counts % fraction),
                          (double)(thread.counts / fraction), (double)thread.low};
  constexpr unsigned warps = block_threads / 32;
  const unsigned warp = threadIdx.x / 32;
#pragma unroll
  for (int half = 16; half > 0; half /= 2) {
    own.values += __shfl_xor_sync(whole_warp, own.values, half);
    own.logs += __shfl_xor_sync(whole_warp, own.logs, half);
    own.negative += __shfl_xor_sync(whole_warp, own.negative, half);
    own.fractions += __shfl_xor_sync(whole_warp, own.fractions, half);
    own.low += __shfl_xor_sync(whole_warp, own.low, half);
  }
  if (threadIdx.x % 32 == 0) {
    space[warp] = own.values;
    space[warps + warp] = own.logs;
    space[2 * warps + warp] = own.negative;
    space[3 * warps + warp] = own.fractions;
    space[4 * warps + warp] = own.low;
  }
  __syncthreads();
  if (threadIdx.x > 0)
    return;
  amped_ratio_sums all = {};
  for (unsigned w = 0; w < warps; w++) {
    all.values += space[w];
    all.logs += space[warps + w];
    all.negative += space[2 * warps + w];
    all.fractions += space[3 * warps + w];
    all.low += space[4 * warps + w];
  }
  *to = all;
}

/* Count block b, all of whose threads have finished. The last block of a part of the rows signals
 * the host. */
template <typename T, typename I>
__device__ inline void tell_done(const sorted_problem<T, I> &p, unsigned b) {
  int part = 0;
  while (b >= p.part_ends[part])
    part++;
  const unsigned blocks = p.part_ends[part] - (part > 0 ? p.part_ends[part - 1] : 0);
  __threadfence();
  if (atomicAdd(p.done + part, 1U) + 1 < blocks * p.columns)
    return;
  p.done[part] = 0;
  __threadfence_system();
  *(volatile unsigned *)(p.turns + part) = p.turn;
}

/* Load the shared-memory tile of nonzero k, from column `left` of the rows on. *first = its first
 * position. */
template <typename T, typename I, int G, int N>
__device__ inline void take_smem(const sorted_problem<T, I> &p, unsigned k, unsigned left,
                                 typename vector_of<T>::type *smem_tile, unsigned *first) {
  const unsigned span = p.stride < G ? p.stride : G;
  if (threadIdx.x == 0) {
    const raw_nonzero<T, N> raw = load_nonzero<T, I, N>(p, k);
    *first = (unsigned)decode<T, I, N>(p, raw, k).input[0] / p.smem_rows * p.smem_rows;
  }
  __syncthreads();
  const unsigned rows = min(p.smem_rows, p.smem_positions - *first);
  for (unsigned i = threadIdx.x; i < rows * span; i += blockDim.x) {
    const unsigned column = left + i % span;
    smem_tile[i] = __ldg(p.factors[0] + ((uint64_t)(*first + i / span) * p.stride +
                                         (column < p.stride ? column : p.stride - 1)));
  }
  __syncthreads();
}

/* Add the carry rows of a row that begins in block `from` and continues in the next `links`
 * blocks. */
template <typename T, typename I, int G, int block_threads>
__device__ inline void add_carries(const sorted_problem<T, I> &p, unsigned from, unsigned links,
                                   unsigned column, bool mine, typename vector_of<T>::type *output,
                                   typename vector_of<T>::type *partial) {
  typedef typename long_sum_of<T>::type long_sum;
  constexpr unsigned groups = block_threads / G;
  const unsigned group = threadIdx.x / G;
  long_sum sum = {};
  for (unsigned i = group; i < links; i += groups)
    if (mine)
      add_to(sum, __ldcg(p.carries + ((uint64_t)(from + 1 + i) * p.stride + column)));
  partial[threadIdx.x] = rounded(sum);
  __syncthreads();
  if (group == 0 && mine) {
    /* The block after `from` may belong to an earlier launch, so the difference may be negative. */
    const int64_t behind = (int64_t)(p.blocks[from + 1].first - p.first);
    const I row = __ldg(p.rows + __ldg(p.starts + behind / (int64_t)p.packing.pack));
    auto *const to = output + ((uint64_t)row * p.stride + column);
    long_sum all = {};
    add_to(all, __ldcg(to));
    for (unsigned g = 0; g < groups && g < links; g++)
      add_to(all, partial[g * G + threadIdx.x]);
    *to = rounded(all);
  }
  __syncthreads();
}

/* --- the kernel ------------------------------------------------------------------------------ */

/* N: number of input modes, or an upper bound if it is generic_inputs. P: ratios. Rarely used
 * numbers lie in shared memory, because registers hold the rows in flight.
 *
 * The function is long on purpose: with its steps as inline functions the compiler assigns
 * registers differently, and spills some of them. */
template <typename T, typename I, int G, int N, hint_level H, bool P>
__global__ void __launch_bounds__(shape<N, H, P>::threads, shape<N, H, P>::blocks)
    mttkrp_sorted(const typename problem_of<T, I, P>::type p) {
  constexpr int block_threads = shape<N, H, P>::threads;
  typedef typename vector_of<T>::type vector;
  typedef typename long_sum_of<T>::type long_sum;
  constexpr int groups = block_threads / G;
  constexpr int ahead = tuning<N>::ahead;
  __shared__ vector sums[2][block_threads];
  vector *const partials = sums[0];     /* sums of rows that an earlier strip began */
  vector *const folded = sums[1];       /* second sums of the current rows */
  __shared__ I partial_entries[groups]; /* row of each partial sum, as an entry of the row list */
  __shared__ unsigned number;           /* number of this thread block in the launch */
  __shared__ vector *volatile output_of_tile;
  __shared__ volatile unsigned first_of_block, end_of_block;
  __shared__ bool last_of_carry, last_of_tail;
  __shared__ unsigned smem_first; /* position of the tile's first row */
  extern __shared__ float4 smem_memory[];
  vector *const smem_tile = reinterpret_cast<vector *>(smem_memory);
  const I no_partial = ~I(0); /* the group has no partial sum */

  /* Step 1: take a block of the schedule, and wait for earlier blocks. */
  if (threadIdx.x == 0)
    number = p.tiled ? atomicAdd(p.ticket, 1U) - p.ticket_base : blockIdx.x;
  __syncthreads();
  const unsigned b = p.first_block + number / p.columns;
  const amped_block_cuda *const block = p.blocks + b;
  if (threadIdx.x == 0) {
    output_of_tile = p.output + block->tile % p.outputs * p.output_stride;
    first_of_block = (unsigned)(block->first - p.first);
    end_of_block = first_of_block + block->count;
  }
  if (p.tiled)
    wait_for(p, block->before, block->befores, number % p.columns);
  else
    __syncthreads();

  /* Step 2: find the nonzeros of this thread's group, first .. last. A group without nonzeros works
   * on the block's first one and stores nothing. */
  const unsigned lane = threadIdx.x % G;
  const unsigned group = threadIdx.x / G;
  constexpr bool one_column = P && N < generic_inputs; /* other rows have the generic kernel */
  const auto column = [&]() {
    return (one_column ? 0U : number % p.columns * G) + threadIdx.x % G;
  };
  const auto works = [&]() { return first_of_block + threadIdx.x / G * p.strip < end_of_block; };
  const unsigned first = first_of_block + (works() ? group * p.strip : 0);
  const unsigned last = !works()                         ? first
                        : end_of_block - first > p.strip ? first + p.strip - 1
                                                         : end_of_block - 1;

  /* Step 3: load the shared-memory tile. */
  const unsigned span = p.stride < G ? p.stride : G; /* vectors of a row in shared memory */
  if constexpr (H == SMEM_FIRST)
    take_smem<T, I, G, N>(p, first_of_block, number % p.columns * G, smem_tile, &smem_first);
  const unsigned smem_lane = lane < span ? lane : span - 1;

  /* Step 4: find the row of the strip's first nonzero. If an earlier strip began this row, its sum
   * here is a partial sum. `from` is this thread's column in every factor. */
  I entry = entry_of(p, first);
  I row = __ldg(p.rows + entry);
  if (lane == 0)
    partial_entries[group] = works() && !(__ldg(p.bits + first / 32) & 1U) ? entry : no_partial;
  __syncwarp();
  vector sum = splat(T(0));
  folded[threadIdx.x] = sum;
  /* Ratios: this lane's part of the own row, times the weights, and of the next row; the entry of
   * the first; the model at one nonzero. */
  [[maybe_unused]] vector own = splat(T(0));
  [[maybe_unused]] vector coming = splat(T(0));
  [[maybe_unused]] I own_entry = entry;
  [[maybe_unused]] T kept = T(0);
  [[maybe_unused]] thread_sums ratio_sums = {};
  [[maybe_unused]] const auto load_coming = [&](I at) {
    if constexpr (P)
      if (column() < p.stride)
        coming = __ldg(own_row(p, __ldg(p.rows + at)) + column());
  };
  [[maybe_unused]] const auto take_coming = [&]() {
    if constexpr (P) {
      if (column() < p.stride)
        own = times(coming, __ldg(p.weights + column()));
      load_coming(own_entry + 1 < p.row_count ? own_entry + 1 : own_entry);
    }
  };
  if constexpr (P) {
    load_coming(entry);
    take_coming();
  }
  const vector *from[N];
  uint64_t policies[N];
#pragma unroll
  for (int m = 0; m < N; m++) {
    from[m] = p.factors[m] + (column() < p.stride ? column() : p.stride - 1);
    policies[m] = H == L2_HINTS ? policy_of(p.hints[m]) : 0;
  }
  /* At the end of a row: keep its partial sum, add the row to the output, or store it. */
  const auto store = [&]() {
    const vector all = plus(folded[threadIdx.x], sum);
    if (partial_entries[threadIdx.x / G] == entry)
      partials[threadIdx.x] = all;
    else if (column() < p.stride && p.tiled)
      add_at(output_of_tile + ((uint64_t)row * p.stride + column()), all);
    else if (column() < p.stride)
      __stcs(output_of_tile + ((uint64_t)row * p.stride + column()), all);
  };

  /* Step 5: add up the strip, G nonzeros at a time. After the end of the strip every lane gets the
   * last nonzero again, or all zeros, with value zero. This changes nothing (same row, finite
   * factors), and makes all later checks unnecessary. */
  const unsigned begin = first + lane;
  const auto place = [&](unsigned done) { return begin + done < last ? begin + done : last; };

  constexpr bool is_staged = staging<T, G, H>::is_used;
  constexpr unsigned stage_nonzeros = stage<T, G>::nonzeros;
  __shared__ __align__(16) char stages[is_staged ? groups : 1][stage<T, G>::bytes];
  raw_nonzero<T, N> next;
  if constexpr (is_staged)
    begin_stage<T, I, G>(p, first, last, stages[group]);
  else
    next = load_nonzero<T, I, N>(p, place(0));
  uint32_t begins = 0;
#pragma unroll 1
  for (unsigned done = 0; done < p.strip; done += G) {
    /* 5a: fetch row bits, fold the sum, decode these nonzeros, load the next ones. */
    if (done % 32 == 0) {
      begins = row_bits(p, begin - lane + done, last);
      if (done == 0)
        begins &= ~1U;
    }
    if (done % fold_nonzeros == 0) {
      folded[threadIdx.x] = plus(folded[threadIdx.x], sum);
      sum = splat(T(0));
    }
    if constexpr (is_staged) {
      if (done % stage_nonzeros == 0) {
        __pipeline_wait_prior(0);
        __syncwarp();
      }
      next = from_stage<T, I, G, N>(p, stages[group], done % stage_nonzeros + lane, place(done));
    }
    nonzero<T, I, N> now = decode<T, I, N>(p, next, place(done));
    if (begin + done > last) {
      now.value = T(0);
      if constexpr (H == SMEM_FIRST)
        now.input[0] = smem_first;
    }
    if constexpr (H == SMEM_FIRST)
      now.input[1] |= (now.input[0] - smem_first) << p.smem_shift;
    if (is_staged && (done + G) % stage_nonzeros == 0 && done + G < p.strip) {
      __syncwarp(); /* all lanes have read the last nonzeros of this stage */
      begin_stage<T, I, G>(p, first + done + G, last, stages[group]);
    }
    if (!is_staged && done + G < p.strip)
      next = load_nonzero<T, I, N>(p, place(done + G));
#pragma unroll 1
    for (int j = 0; j < G; j += ahead) {
      /* 5b: gather the rows of `ahead` nonzeros. */
      vector gathered[N][ahead];
      [[maybe_unused]] unsigned in_tile[ahead];
#pragma unroll
      for (int u = 0; u < ahead; u++) {
#pragma unroll
        for (int m = H == SMEM_FIRST ? 1 : 0; m < N; m++)
          if (N < generic_inputs || m < p.packing.inputs) {
            I position = __shfl_sync(whole_warp, now.input[m], j + u, G);
            if (H == SMEM_FIRST && m == 1) {
              if constexpr (P)
                in_tile[u] = (unsigned)(position >> p.smem_shift) * span + smem_lane;
              else
                gathered[0][u] = smem_tile[(unsigned)(position >> p.smem_shift) * span + smem_lane];
              position &= p.smem_mask;
            }
            const vector *const at = row_at(from[m], position, p.stride * (unsigned)sizeof(vector));
            gathered[m][u] = H == L2_HINTS ? gather(at, policies[m]) : __ldg(at);
          }
      }
      /* 5c: add their products. Bit u of `begins`: nonzero u begins a row. */
      /* The part of the dot product of nonzero u that lies in other columns of the rows. */
      [[maybe_unused]] const auto other_columns = [&](int u) {
        T part = T(0);
        if constexpr (P) {
          I positions[N];
#pragma unroll
          for (int m = 0; m < N; m++)
            if (N < generic_inputs || m < p.packing.inputs) {
              positions[m] = __shfl_sync(whole_warp, now.input[m], j + u, G);
              if (H == SMEM_FIRST && m == 1)
                positions[m] &= p.smem_mask;
            }
          const vector *const at = own_row(p, __ldg(p.rows + own_entry));
          for (unsigned c = lane; c < p.stride; c += G) {
            if (c == column())
              continue;
            vector product = times(__ldg(at + c), __ldg(p.weights + c));
#pragma unroll
            for (int m = 0; m < N; m++)
              if (N < generic_inputs || m < p.packing.inputs)
                product = times(product, __ldg(row_at(p.factors[m] + c, positions[m],
                                                      p.stride * (unsigned)sizeof(vector))));
            part += total(product);
          }
        }
        return part;
      };
      const bool any_begins = __any_sync(whole_warp, begins & ((1U << ahead) - 1U));
      [[maybe_unused]] T dots[ahead];
      [[maybe_unused]] T ratio = T(0);
      if constexpr (P) {
        /* Divide the values by their models. The products take the place of the first rows. */
#pragma unroll
        for (int u = 0; u < ahead; u++) {
          if constexpr (H == SMEM_FIRST)
            gathered[0][u] = smem_tile[in_tile[u]];
#pragma unroll
          for (int m = 1; m < N; m++)
            if (N < generic_inputs || m < p.packing.inputs)
              gathered[0][u] = times(gathered[0][u], gathered[m][u]);
          if (any_begins && begins >> u & 1U) {
            own_entry++;
            take_coming();
          }
          dots[u] = total(times(own, gathered[0][u]));
          if constexpr (N == generic_inputs)
            if (p.columns > 1)
              dots[u] += other_columns(u);
        }
        constexpr unsigned lanes = G / ahead; /* lanes of a group with the same nonzero */
        T model = sums_of_lanes<T, G, ahead>(dots);
        model = model < p.least ? p.least : model;
        ratio = __shfl_sync(whole_warp, now.value, j + (int)(lane / lanes), G) / model;
        if (p.sums != nullptr) {
          model = __shfl_sync(whole_warp, model, (int)(lane % ahead * lanes), G);
          if (lane / ahead == (unsigned)j / ahead)
            kept = model;
        }
      }
      const auto use = [&](int u) {
        if constexpr (P) {
          sum =
              fused(splat(__shfl_sync(whole_warp, ratio, u * (G / ahead), G)), gathered[0][u], sum);
        } else {
          vector product =
              times(splat(__shfl_sync(whole_warp, now.value, j + u, G)), gathered[0][u]);
#pragma unroll
          for (int m = 1; m < N - 1; m++)
            if (N < generic_inputs || m < p.packing.inputs)
              product = times(product, gathered[m][u]);
          if (N < generic_inputs || N == p.packing.inputs)
            sum = fused(product, gathered[N - 1][u], sum);
          else
            sum = plus(product, sum);
        }
      };
      if (any_begins) {
#pragma unroll
        for (int u = 0; u < ahead; u++) {
          if (begins >> u & 1U) {
            store();
            sum = splat(T(0));
            folded[threadIdx.x] = sum;
            row = __ldg(p.rows + ++entry);
          }
          use(u);
        }
      } else {
#pragma unroll
        for (int u = 0; u < ahead; u++)
          use(u);
      }
      begins >>= ahead;
    }
    if constexpr (P)
      if (p.sums != nullptr && works() && begin + done <= last)
        add_ratio(ratio_sums, now.value, kept, p.least);
  }
  if (works())
    store();
  __syncthreads();
  if constexpr (P)
    if (p.sums != nullptr && number % p.columns == 0)
      join_ratios<block_threads>(ratio_sums, reinterpret_cast<double *>(folded), p.sums + b);

  /* Step 6: add the partial sums of every row. The group with a row's first partial sum adds all of
   * them. If the row began in an earlier block, their sum is this block's carry row. */
  const unsigned tile_column = number % p.columns;
  const bool mine = column() < p.stride;
  const I of = partial_entries[group];
  if (of != no_partial && (group == 0 || partial_entries[group - 1] != of) && mine) {
    vector *const to = group == 0
                           ? p.carries + ((uint64_t)b * p.stride + column())
                           : output_of_tile + ((uint64_t)__ldg(p.rows + of) * p.stride + column());
    long_sum all = {};
    if (group > 0)
      add_to(all, __ldcg(to));
    for (unsigned g = group; g < groups && partial_entries[g] == of; g++)
      add_to(all, partials[g * G + lane]);
    *to = rounded(all);
  }

  /* Step 7: count this block as arrived at the rows that it shares with other blocks. The first of
   * these rows began in the predecessor; the last continues after this block. The last block to
   * arrive at a row adds its carry rows. */
  const unsigned predecessor = block->predecessor;
  const unsigned links = block->links;
  if (predecessor != b || links > 0) {
    __syncthreads();
    if (threadIdx.x == 0) {
      unsigned *const carry = p.arrived + predecessor * p.columns + tile_column;
      unsigned *const tail = p.arrived + b * p.columns + tile_column;
      __threadfence();
      last_of_carry = predecessor != b && atomicAdd(carry, 1U) == p.blocks[predecessor].links;
      last_of_tail = links > 0 && atomicAdd(tail, 1U) == links;
      if (last_of_carry)
        *carry = 0;
      if (last_of_tail)
        *tail = 0;
      __threadfence();
    }
    __syncthreads();
    if (last_of_carry)
      add_carries<T, I, G, block_threads>(p, predecessor, p.blocks[predecessor].links, column(),
                                          mine, output_of_tile, partials);
    if (last_of_tail)
      add_carries<T, I, G, block_threads>(p, b, links, column(), mine, output_of_tile, partials);
  }

  /* Step 8: signal the host, which waits for parts of the rows, and the blocks of the next tile. */
  if (p.parts > 1) {
    __syncthreads();
    if (threadIdx.x == 0)
      tell_done(p, b);
  }
  if (p.tiled) {
    __syncthreads();
    if (threadIdx.x == 0) {
      __threadfence();
      store_release(p.finished + (b * p.columns + tile_column), p.turn);
    }
  }
}

/* --- launches -------------------------------------------------------------------------------- */

/* Describe the inputs in the kernel's order: the input of a shared-memory tile comes first. Returns
 * the hints that they need. */
template <typename T, typename I>
hint_level describe_inputs(sorted_problem<T, I> *p, const amped_mttkrp_cuda_args *args) {
  typedef typename vector_of<T>::type vector;
  const amped_hint_cuda *const hints = args->work->hints;
  int inputs[AMPED_MAX_ORDER - 1];
  hint_level level = NO_HINTS;
  for (int i = 0; i < args->inputs; i++) {
    inputs[i] = i;
    if (hints[i] == AMPED_HINT_SHARED_MEMORY) {
      level = SMEM_FIRST;
      inputs[i] = 0;
      inputs[0] = i;
    } else if (hints[i] != AMPED_HINT_NONE && level == NO_HINTS)
      level = L2_HINTS;
  }
  for (int m = 0; m < args->inputs; m++) {
    const int i = inputs[m];
    p->factors[m] = static_cast<const vector *>(args->factors[i]);
    p->hints[m] = hints[i];
    describe_input(p, &args->packed.packing, m, i);
  }
  return level;
}

template <typename T, typename I>
void describe_work(sorted_problem<T, I> *p, const amped_mttkrp_cuda_args *args) {
  typedef typename vector_of<T>::type vector;
  const amped_work_cuda *work = args->work;
  p->strip = (unsigned)work->cut.strip;
  p->outputs = (unsigned)work->cut.outputs;
  p->output = static_cast<vector *>(p->outputs > 1 ? work->d_outputs : args->output);
  p->smem_rows = work->cut.smem_rows;
  p->smem_positions = work->cut.smem_positions;
  p->smem_shift = work->cut.smem_shift;
  p->smem_mask = mask_of<unsigned>(work->cut.smem_shift);
  p->output_stride = work->output_bytes / sizeof(vector);
  p->stride = (unsigned)(args->ld * sizeof(T) / sizeof(vector));
  p->columns = (unsigned)work->cut.columns;
  p->blocks = work->d_blocks;
  p->first_block = args->first_block;
  p->tiled = work->tiled;
  p->carries = static_cast<vector *>(work->d_carries);
  p->arrived = work->d_incoming;
  p->finished = work->d_finished;
  p->ticket = work->d_ticket;
  p->ticket_base = work->tickets;
  p->turn = work->turn;
  p->parts = work->parts;
  for (int i = 0; i < work->parts; i++)
    p->part_ends[i] = work->part_ends[i];
  p->done = work->d_done;
  p->turns = work->turns;
}

template <typename T, typename I>
void describe_ratio(sorted_problem<T, I> *, const amped_mttkrp_cuda_args *) {
}

template <typename T, typename I>
void describe_ratio(ratio_problem<T, I> *p, const amped_mttkrp_cuda_args *args) {
  typedef typename vector_of<T>::type vector;
  const amped_ratio_cuda_args *const ratio = args->ratio;
  p->own = static_cast<const vector *>(ratio->rows);
  p->weights = static_cast<const vector *>(ratio->weights);
  p->own_first = ratio->first;
  p->own_rows = ratio->own;
  p->shared = static_cast<const I *>(ratio->shared);
  p->least = (T)ratio->least;
  p->row_count = (I)ratio->row_count;
  p->sums = ratio->sums;
}

/* Launch the kernel with a tile in shared memory. */
template <typename T, typename I, int G, int N, bool P>
amped_status launch_smem(const typename problem_of<T, I, P>::type &p, unsigned blocks,
                         cudaStream_t stream) {
  const auto kernel = mttkrp_sorted<T, I, G, N, SMEM_FIRST, P>;
  const int bytes = (int)(p.smem_rows * (p.stride < G ? p.stride : G) * 16);
  AMPED_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  kernel<<<blocks, AMPED_SMEM_THREADS, (size_t)bytes, stream>>>(p);
  return AMPED_OK;
}

/* Ratios take no cache hints, which would make as many kernels again. */
template <typename T, typename I, int G, int N, bool P>
amped_status launch_sorted(const amped_mttkrp_cuda_args *args) {
  typename problem_of<T, I, P>::type p = {};
  describe_copy(&p, &args->packed);
  describe_work<T, I>(&p, args);
  describe_ratio(&p, args);
  hint_level level = describe_inputs<T, I>(&p, args);
  if (N == generic_inputs || (P && level == L2_HINTS))
    level = NO_HINTS;
  const uint64_t blocks = (uint64_t)args->blocks * p.columns;
  if (blocks > INT32_MAX)
    return amped_error(AMPED_FAILED, "CUDA",
                       "%" PRIu64 " thread blocks are too many for one launch; use more GPUs",
                       blocks);
  if (level == NO_HINTS)
    mttkrp_sorted<T, I, G, N, NO_HINTS, P>
        <<<(unsigned)blocks, AMPED_BLOCK_THREADS, 0, args->stream>>>(p);
  else if constexpr (N < generic_inputs && !P) {
    if (level == L2_HINTS)
      mttkrp_sorted<T, I, G, N, L2_HINTS, P>
          <<<(unsigned)blocks, AMPED_BLOCK_THREADS, 0, args->stream>>>(p);
  }
  if constexpr (N <= AMPED_SMEM_INPUTS)
    if (level == SMEM_FIRST)
      AMPED_TRY((launch_smem<T, I, G, N, P>(p, (unsigned)blocks, args->stream)));
  AMPED_CUDA_LAUNCHED("the sorted MTTKRP kernel");
  return AMPED_OK;
}

/* All orders share one kernel for 64-bit positions, which are rare (factors of more than 2^32
 * rows). */
template <typename T, typename I, int G, bool P>
amped_status launch_for_order(const amped_mttkrp_cuda_args *args) {
  if constexpr (sizeof(I) == sizeof(index32)) {
    switch (P && args->work->cut.columns > 1 ? generic_inputs : args->inputs) {
    case 2:
      return launch_sorted<T, I, G, 2, P>(args);
    case 3:
      return launch_sorted<T, I, G, 3, P>(args);
    case 4:
      return launch_sorted<T, I, G, 4, P>(args);
    default:
      break;
    }
  }
  return launch_sorted<T, I, G, generic_inputs, P>(args);
}

template <typename T, typename I, bool P>
amped_status launch_for_lanes(const amped_mttkrp_cuda_args *args) {
  switch (args->work->cut.lanes) {
  case 4:
    return launch_for_order<T, I, 4, P>(args);
  case 8:
    return launch_for_order<T, I, 8, P>(args);
  case 16:
    return launch_for_order<T, I, 16, P>(args);
  default:
    return launch_for_order<T, I, 32, P>(args);
  }
}

template <typename T, bool P> amped_status launch_for_index(const amped_mttkrp_cuda_args *args) {
  return args->index_type == AMPED_U32 ? launch_for_lanes<T, index32, P>(args)
                                       : launch_for_lanes<T, index64, P>(args);
}

} // namespace

#endif
