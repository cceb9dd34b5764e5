/* Kernels that make MTTKRP rows from a contraction. */
#include "cuda/dense/rows_cuda.h"

#include "cuda/device/grid_cuda.cuh"

namespace {

/* Rows of W that a thread sums at the same time: all of them use one product of factors. */
constexpr int rows_at_once = 4;
/* Thread blocks per multiprocessor, if there is work for them. */
constexpr uint64_t blocks_each = 8;
/* Most vectors of columns of a thread block. */
constexpr unsigned most_lanes = 32;

template <typename T> struct rows_problem {
  const T *t;
  int others;                        /* number of modes except the target */
  uint64_t dims[AMPED_MAX_ORDER];    /* dimensions of the other modes, as in the following arrays */
  uint64_t strides[AMPED_MAX_ORDER]; /* in T, in rows of ncomps */
  uint64_t steps[AMPED_MAX_ORDER];   /* number of terms that a block takes at once, as digits in
                                        dims */
  const T *factors[AMPED_MAX_ORDER];
  uint64_t rows, row_stride; /* rows, and their stride, of the target mode */
  uint64_t terms, each;      /* per row; per part of a row */
  uint64_t parts;
  uint64_t groups; /* groups of rows_at_once rows */
  unsigned ncomps, lanes;
  uint64_t ld;
  double *sums; /* sums of the parts; NULL if there is one part */
  T *out;
};

template <int V, typename T> __device__ inline void load_vector(const T *from, T *to) {
  if constexpr (V * sizeof(T) == 16) {
    const uint4 v = *reinterpret_cast<const uint4 *>(from);
    memcpy(to, &v, 16);
  } else {
    *to = *from;
  }
}

/* Sum a part of the terms of a group of rows. A thread has V columns, and every at_once-th term. M:
 * most other modes. */
template <typename T, int V, int M>
__global__ void __launch_bounds__(block_threads) add_terms(const rows_problem<T> p) {
  __shared__ double shared[rows_at_once][block_threads * V];
  const unsigned lane = threadIdx.x % p.lanes;
  const unsigned at_once = block_threads / p.lanes;
  const unsigned mine = threadIdx.x / p.lanes;
  const unsigned r = (blockIdx.y * p.lanes + lane) * V;
  const uint64_t part = blockIdx.x / p.groups;
  const uint64_t first_row = blockIdx.x % p.groups * rows_at_once;
  const uint64_t end = (part + 1) * p.each < p.terms ? (part + 1) * p.each : p.terms;
  double sums[rows_at_once][V] = {};
  uint64_t digits[M];
  uint64_t rest = part * p.each + mine;
#pragma unroll
  for (int m = M - 1; m >= 0; m--)
    if (m < p.others) {
      digits[m] = rest % p.dims[m];
      rest /= p.dims[m];
    }
#pragma unroll 2
  for (uint64_t q = part * p.each + mine; q < end && r < p.ncomps; q += at_once) {
    uint64_t at = first_row * p.row_stride;
    T product[V]; /* stays 1 if T has no other mode */
#pragma unroll
    for (int v = 0; v < V; v++)
      product[v] = (T)1;
#pragma unroll
    for (int m = 0; m < M; m++)
      if (m < p.others) {
        T factor[V];
        at += digits[m] * p.strides[m];
        load_vector<V>(p.factors[m] + digits[m] * p.ld + r, factor);
#pragma unroll
        for (int v = 0; v < V; v++)
          product[v] *= factor[v];
      }
#pragma unroll
    for (int i = 0; i < rows_at_once; i++)
      if (first_row + (uint64_t)i < p.rows) {
        T value[V];
        load_vector<V>(p.t + (at + (uint64_t)i * p.row_stride) * p.ncomps + r, value);
#pragma unroll
        for (int v = 0; v < V; v++)
          sums[i][v] += (double)(value[v] * product[v]);
      }
    uint64_t carry = 0;
#pragma unroll
    for (int m = M - 1; m >= 0; m--)
      if (m < p.others) {
        digits[m] += p.steps[m] + carry;
        carry = digits[m] >= p.dims[m] ? 1 : 0;
        digits[m] -= carry != 0 ? p.dims[m] : 0;
      }
  }
#pragma unroll
  for (int i = 0; i < rows_at_once; i++)
#pragma unroll
    for (int v = 0; v < V; v++)
      shared[i][threadIdx.x * V + v] = sums[i][v];
  for (unsigned half = at_once / 2; half > 0; half /= 2) {
    __syncthreads();
    /* All threads share the additions of a half, whose elements are contiguous. */
    for (unsigned e = threadIdx.x; e < half * p.lanes * V * rows_at_once; e += block_threads) {
      const unsigned i = e / (half * p.lanes * V);
      const unsigned at = e % (half * p.lanes * V);
      shared[i][at] += shared[i][at + half * p.lanes * V];
    }
  }
  __syncthreads();
  const unsigned wide = p.lanes * V;
  for (unsigned e = threadIdx.x; e < wide * rows_at_once; e += block_threads) {
    const uint64_t row = first_row + e / wide;
    const unsigned column = blockIdx.y * wide + e % wide;
    if (row >= p.rows || column >= p.ncomps)
      continue;
    if (p.sums != nullptr)
      p.sums[(part * p.rows + row) * p.ncomps + column] = shared[e / wide][e % wide];
    else
      p.out[row * p.ld + column] = (T)shared[e / wide][e % wide];
  }
}

/* W = the sums of all parts, added in their order. */
template <typename T>
__global__ void __launch_bounds__(block_threads) add_row_parts(const rows_problem<T> p) {
  const uint64_t elements = p.rows * p.ncomps;
  for (uint64_t e = thread_number(); e < elements; e += grid_threads()) {
    double sum = p.sums[e];
    for (uint64_t i = 1; i < p.parts; i++)
      sum += p.sums[i * elements + e];
    p.out[e / p.ncomps * p.ld + e % p.ncomps] = (T)sum;
  }
}

/* Returns the terms of a row in a part. Parts are enough to keep all multiprocessors at work, but a
 * thread has at least four terms. */
uint64_t terms_each(uint64_t rows, uint64_t terms, uint64_t at_once, int multiprocessors) {
  const uint64_t groups = amped_ceil_div(rows, (uint64_t)rows_at_once);
  const uint64_t parts = amped_ceil_div((uint64_t)multiprocessors * blocks_each, groups);
  const uint64_t each = amped_ceil_div(terms, parts);
  const uint64_t least = 4 * at_once;
  return each > least ? each : least;
}

template <typename T> rows_problem<T> problem_of(const amped_rows_cuda_args *args, unsigned width) {
  rows_problem<T> p = {};
  p.t = static_cast<const T *>(args->t);
  p.ncomps = (unsigned)args->ncomps;
  p.ld = args->ld;
  p.sums = args->sums;
  p.out = static_cast<T *>(args->out);
  p.rows = args->dims[args->target];
  p.terms = 1;
  uint64_t stride = 1;
  p.others = args->order - 1;
  for (int m = args->order - 1, i = p.others - 1; m >= 0; m--) {
    if (m == args->target) {
      p.row_stride = stride;
    } else {
      p.dims[i] = args->dims[m];
      p.strides[i] = stride;
      p.factors[i--] = static_cast<const T *>(args->factors[m]);
      p.terms *= args->dims[m];
    }
    stride *= args->dims[m];
  }
  p.lanes = 1;
  while (p.lanes * width < p.ncomps && p.lanes < most_lanes)
    p.lanes *= 2;
  uint64_t rest = block_threads / p.lanes;
  p.each = terms_each(p.rows, p.terms, rest, args->multiprocessors);
  p.parts = amped_ceil_div(p.terms, p.each);
  p.groups = amped_ceil_div(p.rows, (uint64_t)rows_at_once);
  for (int i = p.others - 1; i >= 0; i--) {
    p.steps[i] = rest % p.dims[i];
    rest /= p.dims[i];
  }
  return p;
}

/* Returns the elements of an access: 16 bytes if rows are aligned, else one element. */
unsigned width_of(const amped_rows_cuda_args *args) {
  const unsigned width = 16 / (unsigned)args->value_type;
  return (unsigned)args->ncomps % width == 0 && args->ld % width == 0 ? width : 1;
}

template <typename T, int V> amped_status launch_width(const amped_rows_cuda_args *args) {
  const rows_problem<T> p = problem_of<T>(args, V);
  const dim3 grid((unsigned)(p.parts * p.groups), (p.ncomps + p.lanes * V - 1) / (p.lanes * V), 1);
  if (p.others == 1)
    add_terms<T, V, 1><<<grid, block_threads, 0, args->stream>>>(p);
  else if (p.others == 2)
    add_terms<T, V, 2><<<grid, block_threads, 0, args->stream>>>(p);
  else
    add_terms<T, V, AMPED_MAX_ORDER - 2><<<grid, block_threads, 0, args->stream>>>(p);
  AMPED_CUDA_LAUNCHED("the kernel of rows");
  if (p.sums == nullptr)
    return AMPED_OK;
  add_row_parts<T><<<blocks_for(p.rows * p.ncomps), block_threads, 0, args->stream>>>(p);
  AMPED_CUDA_LAUNCHED("the kernel that adds parts of rows up");
  return AMPED_OK;
}

} // namespace

uint64_t amped_rows_cuda_sums(const amped_rows_cuda_args *args) {
  const rows_problem<float> p = problem_of<float>(args, width_of(args));
  return p.parts > 1 ? p.parts * p.rows * p.ncomps : 0;
}

uint64_t amped_rows_cuda_most_sums(uint64_t rows, int ncomps, int multiprocessors) {
  return ((uint64_t)multiprocessors * blocks_each * rows_at_once + 2 * rows) * (uint64_t)ncomps;
}

amped_status amped_rows_cuda(const amped_rows_cuda_args *args) {
  if (args->value_type == AMPED_F32)
    return width_of(args) > 1 ? launch_width<float, 4>(args) : launch_width<float, 1>(args);
  return width_of(args) > 1 ? launch_width<double, 2>(args) : launch_width<double, 1>(args);
}
