#include "cuda/factor/row_descent_cuda.h"

extern "C" {
#include "backend/row_descent.h"
}

namespace {

constexpr unsigned threads = 128;
constexpr unsigned most_blocks = 4096;
constexpr unsigned most_shared = 128; /* components whose V is in shared memory */

template <typename T> struct rows_of {
  const T *output;
  T *rows;
  uint64_t count, ld;
  unsigned n;
  bool nonnegative;
  const double *v, *scale, *shrink;
};

/* Element k of lane l in a group of `lanes` is column 2 (k / 2 * lanes + l) + k % 2. */
template <int each, int lanes> __device__ unsigned column_of(int k, unsigned lane) {
  return 2 * ((unsigned)k / 2 * lanes + lane) + (unsigned)k % 2;
}

/* A row of V as a lane has it. in_shared: rows are each * lanes long, zeros at their ends. */
template <int each, int lanes, bool in_shared>
__device__ void subtract(double (&rest)[each], double by, const double *v, unsigned r, unsigned n,
                         unsigned lane) {
  if (in_shared) {
    const double2 *row = reinterpret_cast<const double2 *>(v + r * (each * lanes)) + lane;
#pragma unroll
    for (int k = 0; k < each; k += 2) {
      const double2 two = row[k / 2 * lanes];
      rest[k] -= by * two.x;
      rest[k + 1] -= by * two.y;
    }
  } else {
#pragma unroll
    for (int k = 0; k < each; k++) {
      const unsigned c = column_of<each, lanes>(k, lane);
      rest[k] -= by * (c < n ? v[(uint64_t)r * n + c] : 0.0);
    }
  }
}

/* inverse[r] = 1 / V(r,r), and what a row's entry is shrunk by; 0 and infinity where V(r,r) is not
 * above 0, which makes any entry 0. */
__device__ void put_diagonal(const double *v, const double *shrink, unsigned n, double *inverse,
                             double *least) {
  for (unsigned r = threadIdx.x; r < n; r += threads) {
    const double x = v[(uint64_t)r * n + r];
    inverse[r] = x > 0.0 ? 1.0 / x : 0.0;
    least[r] = x > 0.0 ? shrink[r] / x : INFINITY;
  }
}

__device__ double shrunk(bool nonnegative, double x, double t) {
  return x > t ? x - t : nonnegative || !(x < -t) ? 0.0 : x + t;
}

/* Every warp has the rows of its groups until the last of them is done. */
template <typename T, int each, int lanes, bool in_shared>
__global__ void __launch_bounds__(threads) descend(const rows_of<T> p) {
  constexpr unsigned width = each * lanes;
  constexpr unsigned all = ~0U;
  extern __shared__ double2 room[];
  double *const inverse = reinterpret_cast<double *>(room);
  double *const least = inverse + width;
  const double *v = p.v;
  const unsigned lane = threadIdx.x % lanes;
  const uint64_t groups = (uint64_t)gridDim.x * (threads / lanes);
  const double share = AMPED_DESCENT_SHARE * AMPED_DESCENT_SHARE;
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
  for (uint64_t first = (uint64_t)blockIdx.x * (threads / lanes) + threadIdx.x / 32 * (32 / lanes);
       first < p.count; first += groups) {
    const uint64_t i = first + threadIdx.x % 32 / lanes;
    const bool is_row = i < p.count;
    double a[each];
    double rest[each];
#pragma unroll
    for (int k = 0; k < each; k++) {
      const unsigned c = column_of<each, lanes>(k, lane);
      const bool is_there = is_row && c < p.n;
      a[k] = is_there ? (double)p.rows[i * p.ld + c] * p.scale[c] : 0.0;
      rest[k] = is_there ? (double)p.output[i * p.ld + c] : 0.0;
    }
#pragma unroll
    for (int k = 0; k < each; k++)
#pragma unroll 1
      for (int owner = 0; owner < lanes; owner++) {
        const unsigned r = column_of<each, lanes>(k, (unsigned)owner);
        if (r < p.n)
          subtract<each, lanes, in_shared>(rest, __shfl_sync(all, a[k], owner, lanes), v, r, p.n,
                                           lane);
      }
    double enough = 0.0;
    bool goes_on = is_row;
    for (int pass = 0; pass < AMPED_DESCENT_PASSES && __any_sync(all, goes_on); pass++) {
      double change = 0.0;
#pragma unroll
      for (int k = 0; k < each; k += 2)
#pragma unroll 1
        for (int owner = 0; owner < lanes; owner++)
#pragma unroll
          for (int j = k; j < k + 2; j++) {
            const unsigned r = column_of<each, lanes>(j, (unsigned)owner);
            if (r >= p.n)
              continue;
            const double x = shrunk(p.nonnegative, a[j] + rest[j] * inverse[r], least[r]);
            const double by = __shfl_sync(all, goes_on ? x - a[j] : 0.0, owner, lanes);
            if (lane == (unsigned)owner && goes_on)
              a[j] = x;
            subtract<each, lanes, in_shared>(rest, by, v, r, p.n, lane);
            change += by * by;
          }
      if (pass == 0)
        enough = share * change;
      else
        goes_on = goes_on && change > enough;
    }
#pragma unroll
    for (int k = 0; k < each; k++) {
      const unsigned c = column_of<each, lanes>(k, lane);
      if (is_row && c < p.n)
        p.rows[i * p.ld + c] = (T)a[k];
    }
  }
}

template <typename T, int each, int lanes, bool in_shared>
amped_status launch(const rows_of<T> &p, cudaStream_t stream) {
  constexpr unsigned width = each * lanes;
  const size_t bytes = sizeof(double) * (2 + (in_shared ? p.n : 0)) * width;
  const uint64_t blocks = amped_ceil_div(p.count, (uint64_t)(threads / lanes));
  const auto kernel = descend<T, each, lanes, in_shared>;
  if (p.count == 0)
    return AMPED_OK;
  AMPED_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes));
  kernel<<<(unsigned)(blocks < most_blocks ? blocks : most_blocks), threads, bytes, stream>>>(p);
  AMPED_CUDA_LAUNCHED("the kernel of row descent");
  return AMPED_OK;
}

/* The fewest lanes, of at most 16 elements, and then the fewest elements that hold a row. */
template <typename T, int lanes>
amped_status launch_short(const rows_of<T> &p, cudaStream_t stream) {
  if constexpr (lanes == 1) {
    if (p.n <= 4)
      return launch<T, 4, lanes, true>(p, stream);
    if (p.n <= 8)
      return launch<T, 8, lanes, true>(p, stream);
  }
  if (p.n <= 12 * lanes)
    return launch<T, 12, lanes, true>(p, stream);
  if (p.n <= 16 * lanes)
    return launch<T, 16, lanes, true>(p, stream);
  if constexpr (16 * lanes < most_shared)
    return launch_short<T, 2 * lanes>(p, stream);
  return AMPED_OK; /* longer ones are not short */
}

template <typename T> amped_status run(const amped_row_descent_cuda *d, cudaStream_t stream) {
  const rows_of<T> p = {static_cast<const T *>(d->d_output),
                        static_cast<T *>(d->d_rows),
                        d->rows,
                        d->ld,
                        (unsigned)d->ncomps,
                        d->nonnegative,
                        d->d_v,
                        d->d_scale,
                        d->d_shrink};
  if (p.n <= most_shared)
    return launch_short<T, 1>(p, stream);
  if (p.n <= 256)
    return launch<T, 16, 16, false>(p, stream);
  return p.n <= 512 ? launch<T, 16, 32, false>(p, stream) : launch<T, 32, 32, false>(p, stream);
}

} // namespace

amped_status amped_row_descent_cuda_run(const amped_row_descent_cuda *d, cudaStream_t stream) {
  return d->type == AMPED_F32 ? run<float>(d, stream) : run<double>(d, stream);
}
