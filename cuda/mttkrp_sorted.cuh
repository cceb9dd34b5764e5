/* The sorted MTTKRP kernel and its launch, as templates: one .cu file a value type instantiates
 * them (mttkrp_f32.cu, mttkrp_f64.cu), so that they build in parallel.
 *
 * Launch shape. A factor row is `stride` vectors of 16 bytes. G lanes (4 .. 32) form a group, each
 * lane owns one vector of a row; rows longer than 32 vectors are cut into column tiles, one a
 * grid.y. Every group walks its own run of consecutive nonzeros, a thread block the runs of its
 * groups: an iSMp. Runs are multiples of the packing's, as long as leaves enough groups to fill the
 * GPU several times over.
 *
 * Within a run the G lanes load and decode one nonzero each (coalesced, ahead of use), hand
 * positions and values round by shuffles, and gather several factor rows before they use the first.
 * Row bits are the same for all lanes. The sum of an output row stays in registers until the next
 * row begins; float sums are folded into double ones every fold_nonzeros nonzeros, which keeps long
 * rows accurate. The run in which a row begins stores it. What a run holds of a row that an earlier
 * run began is a part; a block adds the parts of rows that begin in it, and leaves the part of the
 * one row that began before it in the fix-up buffer, from which two small kernels add it. Parts are
 * added in their order, in double: no atomics, the same bits every time. */
#ifndef AMPED_MTTKRP_SORTED_CUH
#define AMPED_MTTKRP_SORTED_CUH

#include "mttkrp_cuda.h"

extern "C" amped_status amped_mttkrp_sorted_f32(const amped_mttkrp_cuda_args *args);
extern "C" amped_status amped_mttkrp_sorted_f64(const amped_mttkrp_cuda_args *args);

namespace {

constexpr int block_threads = 256;
constexpr unsigned fold_nonzeros = 256;
constexpr uint64_t longest_run = 4096;
constexpr uint64_t waves = 8; /* times that the runs should fill the GPU, at least */
constexpr uint64_t segment = 32; /* blocks whose parts one warp of the first fix-up kernel adds */
constexpr unsigned whole_warp = 0xffffffffU;

typedef unsigned int index32;
typedef unsigned long long index64;

template <typename T> struct vector_of;
template <> struct vector_of<float> {
  typedef float4 type;
};
template <> struct vector_of<double> {
  typedef double2 type;
};

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
template <> struct long_sum_of<float> {
  typedef double4_sum type;
};
template <> struct long_sum_of<double> {
  typedef double2 type;
};

template <typename T, typename I> struct sorted_problem {
  typedef typename vector_of<T>::type vector;
  amped_packing packing;
  uint64_t first; /* number of nonzero 0 of the planes in the copy */
  uint64_t count;
  unsigned run; /* nonzeros a group, a multiple of packing.run */
  const void *planes[AMPED_MAX_PLANES];
  const T *values;
  const T *dictionary;
  const uint32_t *bits;
  const I *rows;
  const I *starts;
  const vector *factors[AMPED_MAX_ORDER - 1];
  vector *output;
  uint64_t unit; /* nonzeros a block */
  vector *fixup; /* a row for each block */
  vector *carry; /* a row for each segment of blocks */
  unsigned stride; /* vectors a row */
};

/* --- decoding ------------------------------------------------------------------------------------ */

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
      x.input[m] = m < 2 || m < p.packing.inputs
                       ? (I)low_bits(w0 >> p.packing.shifts[m], p.packing.bits[m])
                       : 0;
    if (p.packing.coded)
      value = __ldg(p.dictionary + low_bits(w0 >> p.packing.value_shift, p.packing.value_bits));
  } else {
    const uint64_t w1 = word_of(p, 1, at);
#pragma unroll
    for (int m = 0; m < N; m++)
      x.input[m] = m < 2 || m < p.packing.inputs
                       ? (I)field_of(p, at, w0, w1, p.packing.shifts[m], p.packing.bits[m])
                       : 0;
    if (p.packing.coded)
      value = __ldg(p.dictionary +
                    field_of(p, at, w0, w1, p.packing.value_shift, p.packing.value_bits));
  }
  x.value = k < valid ? value : T(0);
  return x;
}

/* --- runs ---------------------------------------------------------------------------------------- */

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

/* N is the number of input modes, or at least that where it is AMPED_MAX_ORDER - 1. */
template <typename T, typename I, int G, int N>
__global__ void __launch_bounds__(block_threads, N <= 2 && sizeof(T) == 4 ? 4 : 2)
    mttkrp_sorted(const sorted_problem<T, I> p) {
  typedef typename vector_of<T>::type vector;
  typedef typename long_sum_of<T>::type long_sum;
  constexpr int groups = block_threads / G;
  constexpr int ahead = N <= 3 ? 4 : 2; /* nonzeros whose rows are in flight */
  __shared__ vector parts[block_threads];
  __shared__ I part_entries[groups]; /* of the rows that parts belong to, no_part where there is none */
  const I no_part = ~I(0);

  const int lane = (int)threadIdx.x % G;
  const int group = (int)threadIdx.x / G;
  const unsigned wanted = blockIdx.y * G + (unsigned)lane;
  const bool mine = wanted < p.stride;
  const unsigned column = mine ? wanted : p.stride - 1;
  const uint64_t run_first = blockIdx.x * p.unit + (unsigned)group * p.run;
  const uint64_t first = run_first < p.count ? run_first : p.count - 1;
  const unsigned valid = run_first >= p.count      ? 0
                         : p.count - first < p.run ? (unsigned)(p.count - first)
                                                   : p.run;
  const uint64_t number = p.first + (valid > 0 ? run_first : 0); /* in the copy */
  const uint32_t *const bits = p.bits + number / 32;
  uint64_t entry = entry_of(p, number);
  I row = __ldg(p.rows + entry);
  /* Is the row in hand one that an earlier run began? */
  bool part = valid > 0 && !(__ldg(bits) & 1U);
  if (lane == 0)
    part_entries[group] = part ? (I)entry : no_part;
  vector sum = splat(T(0));
  long_sum folded = {};

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
          if (m < 2 || m < p.packing.inputs) {
#pragma unroll
            for (int u = 0; u < ahead; u++) {
              const I at = __shfl_sync(whole_warp, now.input[m], j + u, G);
              gathered[m][u] = __ldg(p.factors[m] + ((uint64_t)at * p.stride + column));
            }
          }
#pragma unroll
        for (int u = 0; u < ahead; u++) {
          vector term = splat(__shfl_sync(whole_warp, now.value, j + u, G));
#pragma unroll
          for (int m = 0; m < N; m++)
            if (m < 2 || m < p.packing.inputs)
              term = times(term, gathered[m][u]);
          if (begins & 1U) {
            add_to(folded, sum);
            if (part)
              parts[threadIdx.x] = rounded(folded);
            else if (mine)
              p.output[(uint64_t)row * p.stride + column] = rounded(folded);
            part = false;
            folded = long_sum{};
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
      add_to(folded, sum);
      sum = splat(T(0));
    }
  }
  add_to(folded, sum);
  if (part)
    parts[threadIdx.x] = rounded(folded);
  else if (mine && valid > 0)
    p.output[(uint64_t)row * p.stride + column] = rounded(folded);
  __syncthreads();

  /* The first part of a row adds all of the row's parts in this block. */
  const I of = part_entries[group];
  if (of == no_part || (group > 0 && part_entries[group - 1] == of) || !mine)
    return;
  vector *const to = group == 0 ? p.fixup + blockIdx.x * p.stride + column
                                : p.output + (uint64_t)__ldg(p.rows + of) * p.stride + column;
  long_sum all = {};
  if (group > 0)
    add_to(all, *to);
  for (int g = group; g < groups && part_entries[g] == of; g++)
    add_to(all, parts[g * G + lane]);
  *to = rounded(all);
}

/* --- fix-ups ------------------------------------------------------------------------------------- */

/* Does block b begin with a part of a row that an earlier block began? Is that the very row that
 * block b-1 began with a part of? */
template <typename T, typename I>
__device__ inline bool has_part(const sorted_problem<T, I> &p, uint64_t b) {
  return !begins_row(p, p.first + b * p.unit);
}
template <typename T, typename I>
__device__ inline bool linked(const sorted_problem<T, I> &p, uint64_t b) {
  return b > 0 && has_part(p, b) && has_part(p, b - 1) &&
         entry_of(p, p.first + b * p.unit) == entry_of(p, p.first + (b - 1) * p.unit);
}

/* A warp a segment of 32 blocks, a lane a column. Adds every chain of linked parts that begins in the
 * segment, as far as the segment goes, to its row; the part of a chain that an earlier segment began
 * goes to the carry buffer. */
template <typename T, typename I>
__global__ void __launch_bounds__(block_threads)
    add_parts(const sorted_problem<T, I> p, uint64_t blocks) {
  typedef typename vector_of<T>::type vector;
  typedef typename long_sum_of<T>::type long_sum;
  constexpr int ahead = 8;
  const uint64_t s = (uint64_t)blockIdx.x * (block_threads / 32) + threadIdx.x / 32;
  const unsigned lane = threadIdx.x % 32;
  const uint64_t begin = s * segment;
  const uint64_t b = begin + lane;
  const unsigned column = blockIdx.y * 32 + lane;
  const bool has = b < blocks && has_part(p, b);
  const unsigned parts = __ballot_sync(whole_warp, has);
  const unsigned links = __ballot_sync(whole_warp, has && linked(p, b));
  const uint64_t row = has ? __ldg(p.rows + entry_of(p, p.first + b * p.unit)) : 0;
  vector *to = nullptr;
  long_sum sum = {};
  for (unsigned i = 0; i < segment; i += ahead) {
    vector part[ahead];
    vector old[ahead];
    vector *at[ahead];
#pragma unroll
    for (unsigned u = 0; u < ahead; u++) {
      const uint64_t of = __shfl_sync(whole_warp, row, (int)(i + u));
      const bool taken = parts >> (i + u) & 1U && column < p.stride;
      at[u] = p.output + of * p.stride + column;
      if (taken)
        part[u] = p.fixup[(begin + i + u) * p.stride + column];
      if (taken && !(links >> (i + u) & 1U))
        old[u] = *at[u];
    }
#pragma unroll
    for (unsigned u = 0; u < ahead; u++) {
      if (!(parts >> (i + u) & 1U) || column >= p.stride)
        continue;
      if (!(links >> (i + u) & 1U) || to == nullptr) {
        if (to != nullptr)
          *to = rounded(sum);
        const bool carried = links >> (i + u) & 1U;
        sum = long_sum{};
        to = carried ? p.carry + s * p.stride + column : at[u];
        if (!carried)
          add_to(sum, old[u]);
      }
      add_to(sum, part[u]);
    }
  }
  if (to != nullptr)
    *to = rounded(sum);
}

/* A warp a segment, a lane a column: where a chain's first carried part lies in it, adds all of the
 * chain's carried parts to its row. */
template <typename T, typename I>
__global__ void __launch_bounds__(block_threads)
    add_carries(const sorted_problem<T, I> p, uint64_t segments) {
  typedef typename long_sum_of<T>::type long_sum;
  const uint64_t s = (uint64_t)blockIdx.x * (block_threads / 32) + threadIdx.x / 32;
  const unsigned lane = threadIdx.x % 32;
  const unsigned column = blockIdx.y * 32 + lane;
  if (s >= segments || !linked(p, s * segment))
    return;
  const I entry = entry_of(p, p.first + s * segment * p.unit);
  if (s > 0 && linked(p, (s - 1) * segment) &&
      entry_of(p, p.first + (s - 1) * segment * p.unit) == entry)
    return;
  auto *const to = p.output + (uint64_t)__ldg(p.rows + entry) * p.stride + column;
  long_sum sum = {};
  for (uint64_t t = s; t < segments; t += 32) {
    const uint64_t mine = t + lane;
    const unsigned goes_on = __ballot_sync(
        whole_warp, mine < segments && linked(p, mine * segment) &&
                        entry_of(p, p.first + mine * segment * p.unit) == entry);
    const unsigned count = goes_on == whole_warp ? 32 : (unsigned)__ffs((int)~goes_on) - 1;
#pragma unroll 8
    for (unsigned i = 0; i < count; i++)
      if (column < p.stride)
        add_to(sum, p.carry[(t + i) * p.stride + column]);
    if (count < 32)
      break;
  }
  if (column >= p.stride)
    return;
  add_to(sum, *to);
  *to = rounded(sum);
}

/* --- launches ------------------------------------------------------------------------------------ */

/* Groups of lanes that are enough to fill the GPU `waves` times. */
inline uint64_t enough_groups(int multiprocessors, int lanes) {
  return (uint64_t)multiprocessors * 2048 / (uint64_t)lanes * waves;
}

inline uint64_t run_length(uint64_t count, uint64_t unit, int multiprocessors, int lanes) {
  const uint64_t even = amped_ceil_div(count, enough_groups(multiprocessors, lanes));
  const uint64_t run = amped_ceil_div(even, unit) * unit;
  return run < unit ? unit : run > longest_run ? longest_run : run;
}

template <typename T, typename I, int G, int N>
amped_status launch_sorted(const amped_mttkrp_cuda_args *args) {
  typedef typename vector_of<T>::type vector;
  constexpr uint64_t block_groups = block_threads / G;
  sorted_problem<T, I> p = {};
  p.packing = args->packing;
  p.first = args->first;
  p.count = args->count;
  p.run = (unsigned)run_length(p.count, p.packing.run, args->multiprocessors, G);
  for (int i = 0; i < p.packing.planes; i++)
    p.planes[i] = args->planes[i];
  p.values = static_cast<const T *>(args->values);
  p.dictionary = static_cast<const T *>(args->dictionary);
  p.bits = args->bits;
  p.rows = static_cast<const I *>(args->rows);
  p.starts = static_cast<const I *>(args->starts);
  for (int m = 0; m < args->inputs; m++)
    p.factors[m] = static_cast<const vector *>(args->factors[m]);
  p.output = static_cast<vector *>(args->output);
  p.stride = (unsigned)(args->ld * sizeof(T) / sizeof(vector));
  p.unit = block_groups * p.run;
  const uint64_t blocks = amped_ceil_div(p.count, p.unit);
  const uint64_t segments = amped_ceil_div(blocks, segment);
  p.fixup = static_cast<vector *>(args->workspace);
  p.carry = p.fixup + blocks * p.stride;
  const dim3 grid((unsigned)blocks, (p.stride + G - 1) / G);
  const dim3 fix_grid((unsigned)amped_ceil_div(segments, block_threads / 32),
                      (p.stride + 31) / 32);
  mttkrp_sorted<T, I, G, N><<<grid, block_threads, 0, args->stream>>>(p);
  AMPED_CUDA_LAUNCHED("the sorted MTTKRP kernel");
  add_parts<T, I><<<fix_grid, block_threads, 0, args->stream>>>(p, blocks);
  AMPED_CUDA_LAUNCHED("the fix-up kernel");
  if (segments > 1) {
    add_carries<T, I><<<fix_grid, block_threads, 0, args->stream>>>(p, segments);
    AMPED_CUDA_LAUNCHED("the carry kernel");
  }
  return AMPED_OK;
}

template <typename T, typename I, int G>
amped_status launch_for_order(const amped_mttkrp_cuda_args *args) {
  switch (args->inputs) {
  case 2:
    return launch_sorted<T, I, G, 2>(args);
  case 3:
    return launch_sorted<T, I, G, 3>(args);
  default:
    return launch_sorted<T, I, G, AMPED_MAX_ORDER - 1>(args);
  }
}

/* The fewest lanes that hold a row, at most a warp. */
inline int lanes_for(uint64_t stride) {
  return stride <= 4 ? 4 : stride <= 8 ? 8 : stride <= 16 ? 16 : 32;
}

template <typename T, typename I>
amped_status launch_for_lanes(const amped_mttkrp_cuda_args *args) {
  switch (lanes_for(args->ld * sizeof(T) / 16)) {
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
