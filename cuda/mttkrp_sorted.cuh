/* The sorted MTTKRP kernel and its launch, as templates: one .cu file a value type instantiates
 * them (mttkrp_f32.cu, mttkrp_f64.cu), so that they build in parallel.
 *
 * Launch shape. A factor row is `stride` vectors of 16 bytes. G lanes (4 .. 32) form a group, each
 * lane owns one vector of a row; rows longer than 32 vectors are cut into columns of 32, each with
 * thread blocks of its own. A thread block works on one block of the schedule (an iSMp), each of
 * its groups on a run of consecutive nonzeros.
 *
 * Within a run the G lanes load and decode one nonzero each (coalesced, ahead of use), hand
 * positions and values round by shuffles, and gather several factor rows before they use the first.
 * Row bits are the same for all lanes. The sum of an output row stays in registers until the next
 * row begins. Float sums go over at most fold_nonzeros nonzeros, then into a second sum of the
 * run: with u = 2^-24 a run's error is below (fold_nonzeros + AMPED_LONGEST_RUN / fold_nonzeros +
 * order) u = 1e-5 of the sum of magnitudes, and everything beyond a run is added in double.
 *
 * The run in which a row begins stores it. What a run holds of a row that an earlier run began is a
 * part; a block adds the parts of rows that begin in it, and leaves the part of the one row that
 * began before it, its head, to the last of the blocks that share this row to finish. That block
 * adds all heads, in their order and in double. In a tile after the first one sums are added to
 * what is there already; a block then waits, before it begins, for those blocks of the tile before
 * that may work on the same rows. So every output element has one order of additions: no races, the
 * same bits every time. */
#ifndef AMPED_MTTKRP_SORTED_CUH
#define AMPED_MTTKRP_SORTED_CUH

#include "mttkrp_cuda.h"

extern "C" amped_status amped_mttkrp_sorted_f32(const amped_mttkrp_cuda_args *args);
extern "C" amped_status amped_mttkrp_sorted_f64(const amped_mttkrp_cuda_args *args);

namespace {

constexpr int block_threads = AMPED_BLOCK_THREADS;
constexpr unsigned fold_nonzeros = 128;
constexpr unsigned whole_warp = 0xffffffffU;

typedef unsigned int index32;
typedef unsigned long long index64;

template <typename T> struct vector_of;
template <> struct vector_of<float> { typedef float4 type; };
template <> struct vector_of<double> { typedef double2 type; };

__device__ inline float4 splat(float x) {
  return make_float4(x, x, x, x);
}
__device__ inline double2 splat(double x) {
  return make_double2(x, x);
}
__device__ inline float4 times(float4 a, float4 b) {
  return make_float4(a.x * b.x, a.y * b.y, a.z * b.z, a.w * b.w);
}
__device__ inline double2 times(double2 a, double2 b) {
  return make_double2(a.x * b.x, a.y * b.y);
}
__device__ inline float4 plus(float4 a, float4 b) {
  return make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
}
__device__ inline double2 plus(double2 a, double2 b) {
  return make_double2(a.x + b.x, a.y + b.y);
}

/* A sum of vectors in double. */
struct double4_sum {
  double x, y, z, w;
};
__device__ inline void add_to(double4_sum &s, float4 a) {
  s.x += a.x;
  s.y += a.y;
  s.z += a.z;
  s.w += a.w;
}
__device__ inline void add_to(double2 &s, double2 a) {
  s = plus(s, a);
}
__device__ inline float4 rounded(double4_sum s) {
  return make_float4((float)s.x, (float)s.y, (float)s.z, (float)s.w);
}
__device__ inline double2 rounded(double2 s) {
  return s;
}
template <typename T> struct long_sum_of;
template <> struct long_sum_of<float> { typedef double4_sum type; };
template <> struct long_sum_of<double> { typedef double2 type; };

template <typename T, typename I> struct sorted_problem {
  typedef typename vector_of<T>::type vector;
  amped_packing packing;
  uint64_t first; /* number of nonzero 0 of the planes in the copy */
  unsigned run;   /* nonzeros a group, a multiple of packing.run */
  const void *planes[AMPED_MAX_PLANES];
  const T *values;
  const T *dictionary;
  const uint32_t *bits;
  const I *rows;
  const I *starts;
  const vector *factors[AMPED_MAX_ORDER - 1];
  amped_hint_cuda hints[AMPED_MAX_ORDER - 1];
  vector *output;
  uint64_t output_stride; /* vectors between outputs of tiles */
  unsigned outputs;
  unsigned stride;  /* vectors a row */
  unsigned columns; /* thread blocks for a block of the schedule */
  const amped_block_cuda *blocks;
  unsigned first_block;
  bool tiled;
  vector *heads; /* a row for each block */
  /* A number for each block and column: how many of the blocks that share the row that goes on
   * behind it have finished; the launch in which it finished. */
  unsigned *arrived;
  unsigned *finished;
  unsigned *ticket; /* blocks that have begun, in all launches */
  unsigned ticket_base;
  unsigned turn; /* of this MTTKRP */
};

/* --- decoding ------------------------------------------------------------------------------------
 */

/* Word j of nonzero k's number. */
template <typename T, typename I>
__device__ inline uint64_t word_of(const sorted_problem<T, I> &p, unsigned j, uint64_t k) {
  if (p.packing.plane_bytes[0] == 4) {
    uint64_t w = __ldcs(static_cast<const uint32_t *>(p.planes[0]) + k);
    if (p.packing.planes == 2)
      w |= (uint64_t)__ldcs(static_cast<const uint16_t *>(p.planes[1]) + k) << 32;
    return w;
  }
  if (p.packing.plane_bytes[j] == 8)
    return __ldcs(static_cast<const unsigned long long *>(p.planes[j]) + k);
  if (p.packing.plane_bytes[j] == 4)
    return __ldcs(static_cast<const uint32_t *>(p.planes[j]) + k);
  return __ldcs(static_cast<const uint16_t *>(p.planes[j]) + k);
}

__device__ inline uint64_t low_bits(uint64_t v, unsigned bits) {
  return v & ~(~UINT64_C(0) << (bits & 63) << (bits >> 6 << 5) << (bits >> 6 << 5));
}

/* A field of a number whose first two words are in registers; words behind them are loaded. */
template <typename T, typename I>
__device__ inline uint64_t field_of(const sorted_problem<T, I> &p, uint64_t k, uint64_t w0,
                                    uint64_t w1, unsigned shift, unsigned bits) {
  const unsigned j = shift / 64;
  const unsigned s = shift % 64;
  uint64_t v = (j == 0 ? w0 : j == 1 ? w1 : word_of(p, j, k)) >> s;
  if (s + bits > 64)
    v |= (j == 0 ? w1 : word_of(p, j + 1, k)) << (64 - s);
  return low_bits(v, bits);
}

/* One nonzero a lane. */
template <typename T, typename I, int N> struct nonzero {
  I input[N];
  T value;
};

/* Nonzero k of a run that begins at number `first` and has `valid` nonzeros. Behind its end every
 * lane gets the last one again with value zero: it changes nothing (same row, finite factors) and
 * spares all later checks. */
template <typename T, typename I, int N>
__device__ inline nonzero<T, I, N> load_nonzero(const sorted_problem<T, I> &p, uint64_t first,
                                                unsigned valid, unsigned k) {
  nonzero<T, I, N> x;
  const uint64_t at = first + (k < valid ? k : valid > 0 ? valid - 1 : 0);
  const uint64_t w0 = word_of(p, 0, at);
  T value = T(0);
  if (!p.packing.coded)
    value = __ldcs(p.values + at);
  if (p.packing.words == 1) {
#pragma unroll
    for (int m = 0; m < N; m++)
      x.input[m] = N < AMPED_MAX_ORDER - 1 || m < p.packing.inputs
                       ? (I)low_bits(w0 >> p.packing.shifts[m], p.packing.bits[m])
                       : 0;
    if (p.packing.coded)
      value = __ldg(p.dictionary + low_bits(w0 >> p.packing.value_shift, p.packing.value_bits));
  } else {
    const uint64_t w1 = word_of(p, 1, at);
#pragma unroll
    for (int m = 0; m < N; m++)
      x.input[m] = N < AMPED_MAX_ORDER - 1 || m < p.packing.inputs
                       ? (I)field_of(p, at, w0, w1, p.packing.shifts[m], p.packing.bits[m])
                       : 0;
    if (p.packing.coded)
      value = __ldg(p.dictionary +
                    field_of(p, at, w0, w1, p.packing.value_shift, p.packing.value_bits));
  }
  x.value = k < valid ? value : T(0);
  return x;
}

/* --- runs ----------------------------------------------------------------------------------------
 */

/* Does nonzero n of the copy begin a row? */
template <typename T, typename I>
__device__ inline bool begins_row(const sorted_problem<T, I> &p, uint64_t n) {
  return __ldg(p.bits + n / 32) >> (n % 32) & 1U;
}

/* Entry of the row list of nonzero n of the copy, where a run of the packing begins. */
template <typename T, typename I>
__device__ inline I entry_of(const sorted_problem<T, I> &p, uint64_t n) {
  return __ldg(p.starts + n / p.packing.run);
}

/* --- gathering and storing
 * ------------------------------------------------------------------------ */

#if __CUDA_ARCH__ >= 800
__device__ inline uint64_t policy_of(amped_hint_cuda hint) {
  uint64_t policy = 0;
  if (hint == AMPED_HINT_KEEP)
    asm("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
  else if (hint == AMPED_HINT_PASS)
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
#else /* older GPUs take no hints */
__device__ inline uint64_t policy_of(amped_hint_cuda) {
  return 0;
}
template <typename vector> __device__ inline vector gather(const vector *row, uint64_t) {
  return __ldg(row);
}
#endif

/* *to += v where nobody else works on *to: without waiting for what is there, which does not come
 * again soon. */
__device__ inline void add_at(float4 *to, float4 v) {
#if __CUDA_ARCH__ >= 900
  asm volatile("red.global.add.L2::cache_hint.v4.f32 [%0], {%1, %2, %3, %4}, %5;"
               :
               : "l"(to), "f"(v.x), "f"(v.y), "f"(v.z), "f"(v.w), "l"(policy_of(AMPED_HINT_PASS))
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

/* Has block b finished in this MTTKRP? Then all that it wrote is visible. */
__device__ inline bool has_finished(const unsigned *finished, unsigned turn) {
  unsigned seen = 0;
  asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(finished) : "memory");
  return seen == turn;
}

/* All threads wait until the earlier blocks that may work on the same rows have finished. They have
 * begun before: blocks take their numbers as they begin. */
template <typename T, typename I>
__device__ inline void wait_for(const sorted_problem<T, I> &p, unsigned before, unsigned befores,
                                unsigned tile_column) {
  for (unsigned i = threadIdx.x; i < befores; i += block_threads)
    while (!has_finished(p.finished + (before + i) * p.columns + tile_column, p.turn))
      __nanosleep(64);
  __syncthreads();
}

/* --- the kernel ----------------------------------------------------------------------------------
 */

/* How a kernel for N input modes is built: nonzeros whose rows are in flight, and thread blocks a
 * multiprocessor, so that its registers hold them. Measured (docs/benchmarks.md). */
constexpr int generic_inputs = AMPED_MAX_ORDER - 1;
template <int N> struct tuning {
  static constexpr int ahead = N == 2 ? 4 : 2;
  static constexpr int blocks = N <= 4 ? 4 : 2;
};

/* Add all heads of the row that begins in block `from` and goes on in `links` more to it. */
template <typename T, typename I, int G>
__device__ inline void add_heads(const sorted_problem<T, I> &p, unsigned from, unsigned links,
                                 unsigned column, bool mine, typename vector_of<T>::type *output,
                                 typename vector_of<T>::type *partial) {
  typedef typename long_sum_of<T>::type long_sum;
  constexpr unsigned groups = block_threads / G;
  const unsigned group = threadIdx.x / G;
  long_sum sum = {};
  for (unsigned i = group; i < links; i += groups)
    if (mine)
      add_to(sum, __ldcg(p.heads + ((uint64_t)(from + 1 + i) * p.stride + column)));
  partial[threadIdx.x] = rounded(sum);
  __syncthreads();
  if (group == 0 && mine) {
    const I row = __ldg(p.rows + entry_of(p, p.blocks[from + 1].first));
    auto *const to = output + ((uint64_t)row * p.stride + column);
    long_sum all = {};
    add_to(all, __ldcg(to));
    for (unsigned g = 0; g < groups && g < links; g++)
      add_to(all, partial[g * G + threadIdx.x]);
    *to = rounded(all);
  }
  __syncthreads();
}

/* N is the number of input modes, or at least that where it is generic_inputs. Hints cost registers
 * and, where factors lie in the L1 cache, time: H says whether there are any. */
template <typename T, typename I, int G, int N, bool H>
__global__ void __launch_bounds__(block_threads, tuning<N>::blocks)
    mttkrp_sorted(const sorted_problem<T, I> p) {
  typedef typename vector_of<T>::type vector;
  typedef typename long_sum_of<T>::type long_sum;
  constexpr int groups = block_threads / G;
  constexpr int ahead = tuning<N>::ahead;
  __shared__ vector parts[block_threads];
  __shared__ I
      part_entries[groups];   /* of the rows that parts belong to, no_part where there is none */
  __shared__ unsigned number; /* of this thread block in the launch */
  __shared__ bool last_of_head, last_of_tail;
  const I no_part = ~I(0);

  if (threadIdx.x == 0)
    number = p.tiled ? atomicAdd(p.ticket, 1U) - p.ticket_base : blockIdx.x;
  __syncthreads();
  const unsigned b = p.first_block + number / p.columns;
  const unsigned tile_column = number % p.columns;
  const amped_block_cuda *const block = p.blocks + b;
  vector *const output = p.output + block->tile % p.outputs * p.output_stride;
  if (p.tiled)
    wait_for(p, block->before, block->befores, tile_column);

  const int lane = (int)threadIdx.x % G;
  const int group = (int)threadIdx.x / G;
  const unsigned wanted = tile_column * G + (unsigned)lane;
  const bool mine = wanted < p.stride;
  const unsigned column = mine ? wanted : p.stride - 1;
  const unsigned begin = (unsigned)group * p.run; /* of the run, in the block */
  const unsigned valid = begin >= block->count          ? 0
                         : block->count - begin < p.run ? block->count - begin
                                                        : p.run;
  const uint64_t nonzero_number = block->first + (valid > 0 ? begin : 0); /* in the copy */
  const uint64_t first = nonzero_number - p.first;                        /* in the planes */
  const uint32_t *const bits = p.bits + nonzero_number / 32;
  uint64_t entry = entry_of(p, nonzero_number);
  I row = __ldg(p.rows + entry);
  /* Is the row in hand one that an earlier run began? */
  bool part = valid > 0 && !(__ldg(bits) & 1U);
  if (lane == 0)
    part_entries[group] = part ? (I)entry : no_part;
  vector sum = splat(T(0));
  vector folded = splat(T(0));
  uint64_t policies[N];
#pragma unroll
  for (int m = 0; m < N; m++)
    policies[m] = H ? policy_of(p.hints[m]) : 0;

  nonzero<T, I, N> next = load_nonzero<T, I, N>(p, first, valid, (unsigned)lane);
  for (unsigned done = 0; done < p.run; done += 32) {
    uint32_t begins = done < valid ? __ldg(bits + done / 32) : 0U;
    if (valid - done < 32 && done < valid)
      begins &= (1U << (valid - done)) - 1U;
    if (done == 0)
      begins &= ~1U;
#pragma unroll 1
    for (unsigned batch = 0; batch < 32; batch += G) {
      const nonzero<T, I, N> now = next;
      if (done + batch + G < p.run)
        next = load_nonzero<T, I, N>(p, first, valid, done + batch + G + (unsigned)lane);
#pragma unroll 1
      for (int j = 0; j < G; j += ahead) {
        vector gathered[N][ahead];
#pragma unroll
        for (int m = 0; m < N; m++)
          if (N < generic_inputs || m < p.packing.inputs) {
#pragma unroll
            for (int u = 0; u < ahead; u++) {
              const I at = __shfl_sync(whole_warp, now.input[m], j + u, G);
              const vector *const from = p.factors[m] + ((uint64_t)at * p.stride + column);
              gathered[m][u] = H ? gather(from, policies[m]) : __ldg(from);
            }
          }
#pragma unroll
        for (int u = 0; u < ahead; u++) {
          vector term = splat(__shfl_sync(whole_warp, now.value, j + u, G));
#pragma unroll
          for (int m = 0; m < N; m++)
            if (N < generic_inputs || m < p.packing.inputs)
              term = times(term, gathered[m][u]);
          if (begins & 1U) {
            folded = plus(folded, sum);
            if (part)
              parts[threadIdx.x] = folded;
            else if (mine && p.tiled)
              add_at(output + ((uint64_t)row * p.stride + column), folded);
            else if (mine)
              output[(uint64_t)row * p.stride + column] = folded;
            part = false;
            folded = splat(T(0));
            sum = term;
            row = __ldg(p.rows + ++entry);
          } else {
            sum = plus(sum, term);
          }
          begins >>= 1;
        }
      }
    }
    if ((done + 32) % fold_nonzeros == 0) {
      folded = plus(folded, sum);
      sum = splat(T(0));
    }
  }
  folded = plus(folded, sum);
  if (part)
    parts[threadIdx.x] = folded;
  else if (mine && valid > 0 && p.tiled)
    add_at(output + ((uint64_t)row * p.stride + column), folded);
  else if (mine && valid > 0)
    output[(uint64_t)row * p.stride + column] = folded;
  __syncthreads();

  /* The first part of a row adds all of the row's parts in this block. */
  const I of = part_entries[group];
  if (of != no_part && (group == 0 || part_entries[group - 1] != of) && mine) {
    vector *const to = group == 0 ? p.heads + ((uint64_t)b * p.stride + column)
                                  : output + ((uint64_t)__ldg(p.rows + of) * p.stride + column);
    long_sum all = {};
    if (group > 0)
      add_to(all, __ldcg(to));
    for (int g = group; g < groups && part_entries[g] == of; g++)
      add_to(all, parts[g * G + lane]);
    *to = rounded(all);
  }

  /* Of the blocks that share a row the last one adds their heads. */
  const unsigned chain = block->chain;
  const unsigned links = block->links;
  if (chain != b || links > 0) {
    __syncthreads();
    if (threadIdx.x == 0) {
      unsigned *const head = p.arrived + chain * p.columns + tile_column;
      unsigned *const tail = p.arrived + b * p.columns + tile_column;
      __threadfence();
      last_of_head = chain != b && atomicAdd(head, 1U) == p.blocks[chain].links;
      last_of_tail = links > 0 && atomicAdd(tail, 1U) == links;
      if (last_of_head)
        *head = 0;
      if (last_of_tail)
        *tail = 0;
      __threadfence();
    }
    __syncthreads();
    if (last_of_head)
      add_heads<T, I, G>(p, chain, p.blocks[chain].links, column, mine, output, parts);
    if (last_of_tail)
      add_heads<T, I, G>(p, b, links, column, mine, output, parts);
  }
  if (p.tiled) {
    __syncthreads();
    if (threadIdx.x == 0) {
      __threadfence();
      asm volatile("st.release.gpu.global.u32 [%0], %1;"
                   :
                   : "l"(p.finished + (b * p.columns + tile_column)), "r"(p.turn)
                   : "memory");
    }
  }
}

/* --- launches ------------------------------------------------------------------------------------
 */

template <typename T, typename I, int G, int N>
amped_status launch_sorted(const amped_mttkrp_cuda_args *args) {
  typedef typename vector_of<T>::type vector;
  const amped_work_cuda *work = args->work;
  sorted_problem<T, I> p = {};
  bool hinted = false;
  p.packing = args->packed.packing;
  p.first = args->packed.first;
  p.run = (unsigned)work->cut.run;
  for (int i = 0; i < p.packing.planes; i++)
    p.planes[i] = args->packed.planes[i];
  p.values = static_cast<const T *>(args->packed.values);
  p.dictionary = static_cast<const T *>(args->packed.dictionary);
  p.bits = args->packed.bits;
  p.rows = static_cast<const I *>(args->packed.rows);
  p.starts = static_cast<const I *>(args->packed.starts);
  for (int m = 0; m < args->inputs; m++) {
    p.factors[m] = static_cast<const vector *>(args->factors[m]);
    p.hints[m] = work->hints[m];
    hinted |= work->hints[m] != AMPED_HINT_NONE;
  }
  p.outputs = (unsigned)work->cut.outputs;
  p.output = static_cast<vector *>(p.outputs > 1 ? work->d_outputs : args->output);
  p.output_stride = work->output_bytes / sizeof(vector);
  p.stride = (unsigned)(args->ld * sizeof(T) / sizeof(vector));
  p.columns = (unsigned)work->cut.columns;
  p.blocks = work->d_blocks;
  p.first_block = args->first_block;
  p.tiled = work->tiled;
  p.heads = static_cast<vector *>(work->d_heads);
  p.arrived = work->d_arrived;
  p.finished = work->d_finished;
  p.ticket = work->d_ticket;
  p.ticket_base = work->tickets;
  p.turn = work->turn;
  const uint64_t blocks = (uint64_t)args->blocks * p.columns;
  if (blocks > INT32_MAX)
    return amped_error(AMPED_FAILED, "CUDA",
                       "%" PRIu64 " thread blocks are too many for one launch; use more GPUs",
                       blocks);
  if (hinted)
    mttkrp_sorted < T, I, G, N,
        N<generic_inputs><<<(unsigned)blocks, block_threads, 0, args->stream>>>(p);
  else
    mttkrp_sorted<T, I, G, N, false><<<(unsigned)blocks, block_threads, 0, args->stream>>>(p);
  AMPED_CUDA_LAUNCHED("the sorted MTTKRP kernel");
  return AMPED_OK;
}

/* Positions of 64 bits are rare: factors of more than 2^32 rows. They share one kernel. */
template <typename T, typename I, int G>
amped_status launch_for_order(const amped_mttkrp_cuda_args *args) {
  if constexpr (sizeof(I) == sizeof(index32)) {
    switch (args->inputs) {
    case 2:
      return launch_sorted<T, I, G, 2>(args);
    case 3:
      return launch_sorted<T, I, G, 3>(args);
    case 4:
      return launch_sorted<T, I, G, 4>(args);
    default:
      break;
    }
  }
  return launch_sorted<T, I, G, generic_inputs>(args);
}

template <typename T, typename I>
amped_status launch_for_lanes(const amped_mttkrp_cuda_args *args) {
  switch (args->work->cut.lanes) {
  case 4:
    return launch_for_order<T, I, 4>(args);
  case 8:
    return launch_for_order<T, I, 8>(args);
  case 16:
    return launch_for_order<T, I, 16>(args);
  default:
    return launch_for_order<T, I, 32>(args);
  }
}

template <typename T> amped_status launch_for_index(const amped_mttkrp_cuda_args *args) {
  return args->index_type == AMPED_U32 ? launch_for_lanes<T, index32>(args)
                                       : launch_for_lanes<T, index64>(args);
}

} // namespace

#endif
