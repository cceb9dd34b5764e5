/* The sorted MTTKRP kernel and its launch, as templates: one .cu file a value type instantiates
 * them (mttkrp_f32.cu, mttkrp_f64.cu), so that they build in parallel.
 *
 * Launch shape. A factor row is `stride` vectors of 16 bytes. G lanes (4 .. 32) form a group, each
 * lane owns one vector of a row; rows longer than 32 vectors are cut into column tiles, one a
 * grid.y. Every group walks its own run of consecutive nonzeros, a thread block the runs of its
 * groups: an iSMp. Runs have at most `longest_run` nonzeros, so that a float sum stays short, and
 * at least 32, so that every index load fills whole sectors; in between they are as short as it
 * takes to give every multiprocessor several blocks.
 *
 * Within a run the G lanes load the indices and values of G nonzeros at once (coalesced, ahead of
 * use), hand them round by shuffles, and gather several factor rows before they use the first. The
 * sum of an output row stays in registers until the row changes. A row that begins and ends inside
 * one run is stored; the first and the last row of a run may go on next door and are added
 * atomically. Where all of an iSMp is one row (long rows), its groups are summed in shared memory
 * first: fewer atomics to one place, and a sum in levels (at most 512, then pairwise, then one
 * atomic an iSMp), which is what keeps float sums of very long rows accurate. */
#ifndef AMPED_MTTKRP_SORTED_CUH
#define AMPED_MTTKRP_SORTED_CUH

#include "mttkrp_cuda.h"

extern "C" amped_status amped_mttkrp_sorted_f32(const amped_mttkrp_cuda_args *args);
extern "C" amped_status amped_mttkrp_sorted_f64(const amped_mttkrp_cuda_args *args);

namespace {

constexpr int block_threads = 256;
constexpr uint64_t longest_run = 512;
constexpr uint64_t shortest_run = 32;
constexpr uint64_t waves = 4; /* times that the runs should fill the GPU, at least */
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

__device__ inline void add_atomically(float4 *to, float4 a) {
#if __CUDA_ARCH__ >= 900
  atomicAdd(to, a);
#else
  atomicAdd(&to->x, a.x);
  atomicAdd(&to->y, a.y);
  atomicAdd(&to->z, a.z);
  atomicAdd(&to->w, a.w);
#endif
}
__device__ inline void add_atomically(double2 *to, double2 a) {
  atomicAdd(&to->x, a.x);
  atomicAdd(&to->y, a.y);
}

template <typename T, typename I> struct sorted_problem {
  typedef typename vector_of<T>::type vector;
  uint64_t count;
  unsigned run; /* nonzeros a group */
  const I *rows;
  const I *inputs[AMPED_MAX_ORDER - 1];
  const T *values;
  const vector *factors[AMPED_MAX_ORDER - 1];
  vector *output;
  unsigned stride; /* vectors a row */
  int input_count;
};

/* One nonzero a lane. */
template <typename T, typename I, int N> struct nonzero {
  I row;
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
  x.row = __ldcs(p.rows + at);
#pragma unroll
  for (int m = 0; m < N; m++)
    x.input[m] = m < 2 || m < p.input_count ? __ldcs(p.inputs[m] + at) : 0;
  x.value = k < valid ? __ldcs(p.values + at) : T(0);
  return x;
}

/* N is the number of input modes, or at least that where it is AMPED_MAX_ORDER - 1. */
template <typename T, typename I, int G, int N>
__global__ void __launch_bounds__(block_threads) mttkrp_sorted(const sorted_problem<T, I> p) {
  typedef typename vector_of<T>::type vector;
  constexpr int groups = block_threads / G;
  constexpr int warp_groups = 32 / G;
  constexpr int ahead = N <= 3 ? 4 : 2; /* nonzeros whose rows are in flight */
  __shared__ vector partial[block_threads];

  const int lane = (int)threadIdx.x % G;
  const int group = (int)threadIdx.x / G;
  const unsigned wanted = blockIdx.y * G + (unsigned)lane;
  const bool mine = wanted < p.stride;
  const unsigned column = mine ? wanted : p.stride - 1;
  const uint64_t block_first = (uint64_t)blockIdx.x * (p.run * groups);
  const uint64_t warp_first = block_first + (unsigned)(group - group % warp_groups) * p.run;
  const uint64_t run_first = block_first + (unsigned)group * p.run;
  const uint64_t first = run_first < p.count ? run_first : p.count - 1;
  const unsigned valid = run_first >= p.count      ? 0
                         : p.count - first < p.run ? (unsigned)(p.count - first)
                                                   : p.run;
  vector *const output = p.output + column;

  I row = p.rows[first];
  vector sum = splat(T(0));
  bool shared_row = true;

  if (warp_first < p.count) {
    nonzero<T, I, N> next = load_nonzero<T, I, N>(p, first, valid, (unsigned)lane);
    for (unsigned done = 0; done < p.run; done += G) {
      const nonzero<T, I, N> now = next;
      if (done + G < p.run)
        next = load_nonzero<T, I, N>(p, first, valid, done + G + (unsigned)lane);
#pragma unroll 1
      for (int j = 0; j < G; j += ahead) {
        vector gathered[N][ahead];
#pragma unroll
        for (int m = 0; m < N; m++)
          if (m < 2 || m < p.input_count) {
#pragma unroll
            for (int u = 0; u < ahead; u++) {
              const I at = __shfl_sync(whole_warp, now.input[m], j + u, G);
              gathered[m][u] = __ldg(p.factors[m] + ((uint64_t)at * p.stride + column));
            }
          }
#pragma unroll
        for (int u = 0; u < ahead; u++) {
          const I new_row = __shfl_sync(whole_warp, now.row, j + u, G);
          vector term = splat(__shfl_sync(whole_warp, now.value, j + u, G));
#pragma unroll
          for (int m = 0; m < N; m++)
            if (m < 2 || m < p.input_count)
              term = times(term, gathered[m][u]);
          if (new_row != row) {
            vector *const to = output + (uint64_t)row * p.stride;
            if (mine && shared_row)
              add_atomically(to, sum);
            else if (mine)
              *to = sum;
            shared_row = false;
            row = new_row;
            sum = term;
          } else {
            sum = plus(sum, term);
          }
        }
      }
    }
  }

  const uint64_t block_end = block_first + p.run * groups;
  const uint64_t block_last = (block_end < p.count ? block_end : p.count) - 1;
  bool adds = mine;
  if (p.rows[block_first] == p.rows[block_last]) {
    partial[threadIdx.x] = sum;
#pragma unroll
    for (int half = groups / 2; half > 0; half /= 2) {
      __syncthreads();
      if (group < half)
        partial[threadIdx.x] = plus(partial[threadIdx.x], partial[threadIdx.x + half * G]);
    }
    sum = partial[threadIdx.x];
    adds = mine && group == 0;
  }
  if (adds)
    add_atomically(output + (uint64_t)row * p.stride, sum);
}

inline uint64_t run_length(uint64_t count, int multiprocessors, int lanes) {
  const uint64_t groups_at_once = (uint64_t)multiprocessors * 2048 / (uint64_t)lanes;
  const uint64_t even = amped_ceil_div(count, groups_at_once * waves);
  const uint64_t run = amped_ceil_div(even, shortest_run) * shortest_run;
  return run < shortest_run ? shortest_run : run > longest_run ? longest_run : run;
}

template <typename T, typename I, int G, int N>
amped_status launch_sorted(const amped_mttkrp_cuda_args *args) {
  typedef typename vector_of<T>::type vector;
  constexpr uint64_t groups = block_threads / G;
  sorted_problem<T, I> p = {};
  p.count = args->run.count;
  p.run = (unsigned)run_length(p.count, args->multiprocessors, G);
  p.rows = static_cast<const I *>(args->run.rows);
  p.values = static_cast<const T *>(args->run.values);
  for (int m = 0; m < args->inputs; m++) {
    p.inputs[m] = static_cast<const I *>(args->run.inputs[m]);
    p.factors[m] = static_cast<const vector *>(args->factors[m]);
  }
  p.output = static_cast<vector *>(args->output);
  p.stride = (unsigned)(args->ld * sizeof(T) / sizeof(vector));
  p.input_count = args->inputs;
  const dim3 grid((unsigned)amped_ceil_div(p.count, p.run * groups), (p.stride + G - 1) / G);
  mttkrp_sorted<T, I, G, N><<<grid, block_threads, 0, args->stream>>>(p);
  AMPED_CUDA_LAUNCHED("the sorted MTTKRP kernel");
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
template <typename T, typename I>
amped_status launch_for_lanes(const amped_mttkrp_cuda_args *args) {
  const uint64_t stride = args->ld * sizeof(T) / 16;
  if (stride <= 4)
    return launch_for_order<T, I, 4>(args);
  if (stride <= 8)
    return launch_for_order<T, I, 8>(args);
  if (stride <= 16)
    return launch_for_order<T, I, 16>(args);
  return launch_for_order<T, I, 32>(args);
}

template <typename T> amped_status launch_for_index(const amped_mttkrp_cuda_args *args) {
  return args->index_type == AMPED_U32 ? launch_for_lanes<T, index32>(args)
                                       : launch_for_lanes<T, index64>(args);
}

} // namespace

#endif
