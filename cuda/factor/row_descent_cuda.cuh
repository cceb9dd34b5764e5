/* Kernels of row descent, as templates: row_descent_f32.cu and its siblings instantiate one type
 * and rule each. */
#ifndef AMPED_ROW_DESCENT_CUDA_CUH
#define AMPED_ROW_DESCENT_CUDA_CUH

#include "cuda/factor/row_descent_cuda.h"

extern "C" {
#include "backend/row_descent.h"
}

/* Run the rule for rows of type T. only_cut: as in amped_row_descent_cuda. */
template <typename T, bool only_cut>
amped_status amped_row_descent_run(const amped_row_descent_cuda *d, cudaStream_t stream);

namespace {

constexpr unsigned threads = 128;
constexpr unsigned most_shared = 128; /* most components for which V is in shared memory */

template <typename T> struct rows_of {
  const T *output;
  T *rows;
  uint64_t count, ld;
  unsigned n;
  bool nonnegative;
  const double *v, *scale, *shrink;
};

/* Returns the column of element k of lane l in a group of `lanes`: 2 (k / 2 * lanes + l) + k %
 * 2. */
template <int lanes> __device__ unsigned column_of(int k, unsigned lane) {
  return 2 * ((unsigned)k / 2 * lanes + lane) + (unsigned)k % 2;
}

/* A lane's elements of row r of V. in_shared: V is in shared memory, with rows padded by zeros to
 * each * lanes elements. */
template <int each, int lanes, bool in_shared> struct slice {
  double x[each];
  __device__ slice(const double *v, unsigned r, unsigned n, unsigned lane) {
    if (in_shared) {
      const double2 *row = reinterpret_cast<const double2 *>(v + r * (each * lanes)) + lane;
#pragma unroll
      for (int k = 0; k < each; k += 2) {
        const double2 two = row[k / 2 * lanes];
        x[k] = two.x;
        x[k + 1] = two.y;
      }
    } else {
#pragma unroll
      for (int k = 0; k < each; k++) {
        const unsigned c = column_of<lanes>(k, lane);
        x[k] = c < n ? v[(uint64_t)r * n + c] : 0.0;
      }
    }
  }
};

/* inverse[r] = 1 / V(r,r). least[r] = shrink[r] / V(r,r), the amount by which entry r of a row is
 * shrunk. If V(r,r) is not above 0, they are 0 and infinity, which makes the entry 0. */
__device__ void put_diagonal(const double *v, const double *shrink, unsigned n, double *inverse,
                             double *least) {
  for (unsigned r = threadIdx.x; r < n; r += threads) {
    const double x = v[(uint64_t)r * n + r];
    inverse[r] = x > 0.0 ? 1.0 / x : 0.0;
    least[r] = x > 0.0 ? shrink[r] / x : INFINITY;
  }
}

/* Returns x shrunk towards 0 by t; nonnegative: negative results become 0. only_cut: rows are
 * nonnegative, nothing is shrunk, and V's diagonal is above 0. Only the sign is then tested,
 * without arithmetic in double. */
template <bool only_cut> __device__ double shrunk(bool nonnegative, double x, double t) {
  if (only_cut)
    return __double2hiint(x) < 0 ? 0.0 : x;
  return x > t ? x - t : nonnegative || !(x < -t) ? 0.0 : x + t;
}

/* The row that a group works on: a lane's elements of the row, and of w - a V. An extra pass before
 * the first one subtracts a V. */
constexpr int subtracting = -1;
template <typename T, int each, int lanes> struct row {
  double a[each], rest[each];
  double change, enough;
  uint64_t i; /* number of the row; count or more: none */
  int pass;

  __device__ void load(const rows_of<T> &p, uint64_t number, unsigned lane) {
    i = number;
    pass = subtracting;
    change = enough = 0.0;
#pragma unroll
    for (int k = 0; k < each; k++) {
      const unsigned c = column_of<lanes>(k, lane);
      const bool is_there = i < p.count && c < p.n;
      a[k] = is_there ? (double)p.rows[i * p.ld + c] * p.scale[c] : 0.0;
      rest[k] = is_there ? (double)p.output[i * p.ld + c] : 0.0;
    }
  }

  __device__ void store(const rows_of<T> &p, unsigned lane) const {
#pragma unroll
    for (int k = 0; k < each; k++) {
      const unsigned c = column_of<lanes>(k, lane);
      if (i < p.count && c < p.n)
        p.rows[i * p.ld + c] = (T)a[k];
    }
  }

  /* Set element k, of the lane `owner`, to its best value. Returns the change, by which the whole
   * group subtracts. */
  template <bool only_cut>
  __device__ double move(bool nonnegative, int k, double inverse, double least, int owner,
                         unsigned lane) {
    const double x = shrunk<only_cut>(nonnegative, a[k] + rest[k] * inverse, least);
    const bool moves = pass >= 0;
    const double by = moves ? x - a[k] : a[k];
    if (moves && lane == (unsigned)owner) {
      a[k] = x;
      change += by * by;
    }
    return lanes > 1 ? __shfl_sync(~0U, by, owner, lanes) : by;
  }

  /* Call after a pass. Returns true if the row is finished. */
  __device__ bool ends() {
#pragma unroll
    for (int far = lanes / 2; far > 0; far /= 2)
      change += __shfl_xor_sync(~0U, change, far, lanes);
    if (pass == 0)
      enough = AMPED_DESCENT_SHARE * AMPED_DESCENT_SHARE * change;
    const bool last = pass > 0 && !(change > enough);
    change = 0.0;
    pass++;
    return last || pass == AMPED_DESCENT_PASSES;
  }
};

/* A group loads its next row as soon as a row is finished, so that no group waits for others. */
template <typename T, int each, int lanes, bool in_shared, bool only_cut>
__global__ void __launch_bounds__(threads) descend(const rows_of<T> p) {
  constexpr unsigned width = each * lanes;
  extern __shared__ double2 room[];
  double *const inverse = reinterpret_cast<double *>(room);
  double *const least = inverse + width;
  const double *v = p.v;
  const unsigned lane = threadIdx.x % lanes;
  const uint64_t groups = (uint64_t)gridDim.x * (threads / lanes);
  put_diagonal(p.v, p.shrink, p.n, inverse, least);
  if (in_shared) {
    double *const copy = least + width;
    for (unsigned e = threadIdx.x; e < p.n * width; e += threads) {
      const unsigned c = e % width;
      copy[e] = c < p.n ? p.v[e / width * p.n + c] : 0.0;
    }
    v = copy;
  }
  __syncthreads();
  row<T, each, lanes> own;
  own.load(p, (uint64_t)blockIdx.x * (threads / lanes) + threadIdx.x / lanes, lane);
  while (__any_sync(~0U, own.i < p.count)) {
#pragma unroll
    for (int k = 0; k < each; k += 2)
#pragma unroll 1
      for (int owner = 0; owner < lanes; owner++)
#pragma unroll
        for (int j = k; j < k + 2; j++) {
          const unsigned r = column_of<lanes>(j, (unsigned)owner);
          if (r >= p.n)
            continue;
          const slice<each, lanes, in_shared> of_v(v, r, p.n, lane);
          const double by =
              own.template move<only_cut>(p.nonnegative, j, inverse[r], least[r], owner, lane);
#pragma unroll
          for (int e = 0; e < each; e++)
            own.rest[e] -= by * of_v.x[e];
        }
    if (own.ends()) {
      own.store(p, lane);
      own.load(p, own.i + groups, lane);
    }
  }
}

template <typename T, int each, int lanes, bool in_shared, bool only_cut>
amped_status launch(const rows_of<T> &p, cudaStream_t stream) {
  constexpr unsigned width = each * lanes;
  const size_t bytes = sizeof(double) * (2 + (in_shared ? p.n : 0)) * width;
  const uint64_t needed = amped_ceil_div(p.count, (uint64_t)(threads / lanes));
  const auto kernel = descend<T, each, lanes, in_shared, only_cut>;
  int device = 0;
  int processors = 0;
  int blocks = 0;
  if (p.count == 0)
    return AMPED_OK;
  AMPED_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes));
  AMPED_CUDA(cudaGetDevice(&device));
  AMPED_CUDA(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device));
  AMPED_CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, threads, bytes));
  const uint64_t resident = (uint64_t)processors * (uint64_t)(blocks > 0 ? blocks : 1);
  kernel<<<(unsigned)(needed < resident ? needed : resident), threads, bytes, stream>>>(p);
  AMPED_CUDA_LAUNCHED("the kernel of row descent");
  return AMPED_OK;
}

/* Launch with the fewest lanes that need at most 32 elements each. Fewer lanes waste less, because
 * every lane of a group computes each new element, though only its owner needs it. */
template <typename T, bool only_cut, int lanes>
amped_status launch_shared(const rows_of<T> &p, cudaStream_t stream) {
  if (p.n <= 24 * lanes)
    return launch<T, 24, lanes, true, only_cut>(p, stream);
  if (p.n <= 32 * lanes)
    return launch<T, 32, lanes, true, only_cut>(p, stream);
  if constexpr (32 * lanes < most_shared)
    return launch_shared<T, only_cut, 2 * lanes>(p, stream);
  return AMPED_OK; /* longer rows have no V in shared memory */
}

template <typename T, bool only_cut>
amped_status launch_short(const rows_of<T> &p, cudaStream_t stream) {
  return p.n <= 4    ? launch<T, 4, 1, true, only_cut>(p, stream)
         : p.n <= 8  ? launch<T, 8, 1, true, only_cut>(p, stream)
         : p.n <= 12 ? launch<T, 12, 1, true, only_cut>(p, stream)
                     : launch<T, 16, 1, true, only_cut>(p, stream);
}

} // namespace

template <typename T, bool only_cut>
amped_status amped_row_descent_run(const amped_row_descent_cuda *d, cudaStream_t stream) {
  const rows_of<T> p = {.output = static_cast<const T *>(d->d_output),
                        .rows = static_cast<T *>(d->d_rows),
                        .count = d->rows,
                        .ld = d->ld,
                        .n = (unsigned)d->ncomps,
                        .nonnegative = d->nonnegative,
                        .v = d->d_v,
                        .scale = d->d_scale,
                        .shrink = d->d_shrink};
  if (p.n <= 16)
    return launch_short<T, only_cut>(p, stream);
  if (p.n <= most_shared)
    return launch_shared<T, only_cut, 1>(p, stream);
  if (p.n <= 256)
    return launch<T, 32, 8, false, only_cut>(p, stream);
  return p.n <= 512 ? launch<T, 32, 16, false, only_cut>(p, stream)
                    : launch<T, 32, 32, false, only_cut>(p, stream);
}

#endif
