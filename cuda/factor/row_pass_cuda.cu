/* Kernels of the row pass: new rows and their sums, in one pass over memory. */
#include "cuda/factor/row_pass_cuda.h"

#include <cuda_pipeline.h>

namespace {

constexpr unsigned warps = 8;
constexpr unsigned tile_rows = 16; /* rows that a warp works on at a time */
constexpr unsigned short_bytes = 256;

/* c += a b, of 8 x 4 and 4 x 8 doubles, by a warp. Lane l has element (l / 4, l % 4) of a and
 * element (l % 4, l / 4) of b. Its two elements of c are (l / 4, 2 (l % 4)) and the right
 * neighbour. */
__device__ void multiply_add(double (&c)[2], double a, double b) {
#if __CUDA_ARCH__ >= 800
  asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
      : "+d"(c[0]), "+d"(c[1])
      : "d"(a), "d"(b));
#else
  const unsigned lane = threadIdx.x % 32;
  for (unsigned k = 0; k < 4; k++) {
    const double left = __shfl_sync(~0U, a, lane / 4 * 4 + k);
    c[0] += left * __shfl_sync(~0U, b, lane % 4 * 8 + k);
    c[1] += left * __shfl_sync(~0U, b, lane % 4 * 8 + 4 + k);
  }
#endif
}

/* Distances between rows in shared memory, in elements, for which lanes of a fragment use different
 * banks. in: for fragments of 8 rows and 4 columns. out, square: for fragments of 4 rows and 8
 * columns. */
template <typename T, unsigned tiles> struct pitch {
  static constexpr unsigned width = 8 * tiles;
  static constexpr unsigned in = width + 4;
  static constexpr unsigned out = sizeof(T) == 8 ? in : tiles % 2 == 1 ? width : width + 8;
  static constexpr unsigned square = tiles % 2 == 1 ? width : width + 8;
};

template <typename T, unsigned tiles> struct room {
  typedef pitch<T, tiles> p;
  T in[2][tile_rows * p::in]; /* rows of the current tile and of the next one */
  T out[tile_rows * p::out];  /* old rows, if they are kept; then new rows */
};

template <typename T, unsigned tiles> size_t shared_bytes(bool solves, bool keeps) {
  const size_t square = sizeof(double) * 8 * tiles * pitch<T, tiles>::square;
  const size_t work = warps * sizeof(room<T, tiles>) + (solves ? square : 0) + (keeps ? square : 0);
  const size_t sums = sizeof(double) * (8 * tiles * 8 * tiles + warps);
  return work > sums ? work : sums;
}

/* A lane's traversal of 16 rows: of whole rows 16 bytes at a time, of columns of longer rows one
 * element. */
template <typename T> struct traversal {
  uint64_t stride;
  bool whole;
  unsigned columns, row, column, rows_on, columns_on;
  __device__ traversal(uint64_t longer, unsigned ld, unsigned n) {
    whole = longer == 0;
    stride = whole ? ld : longer;
    columns = whole ? ld : n;
    const unsigned each = whole ? 16 / sizeof(T) : 1;
    row = threadIdx.x % 32 * each / columns;
    column = threadIdx.x % 32 * each % columns;
    rows_on = 32 * each / columns;
    columns_on = 32 * each % columns;
  }
  template <typename F> __device__ void over_tile(F &&act) const {
    unsigned i = row;
    unsigned j = column;
    while (i < tile_rows) {
      act(i, j);
      const bool next = j + columns_on >= columns;
      i += rows_on + (next ? 1 : 0);
      j += columns_on - (next ? columns : 0);
    }
  }
};

/* Copy rows first .. first+15 of the array to shared memory, with zeros for rows that do not
 * exist. */
template <typename T>
__device__ void fetch(const traversal<T> &w, const T *from, uint64_t first, uint64_t rows,
                      unsigned to_pitch, T *to) {
  w.over_tile([&](unsigned i, unsigned j) {
    const bool there = first + i < rows;
    const T *const element = from + (there ? (first + i) * w.stride + j : 0);
    if (w.whole)
      __pipeline_memcpy_async(to + i * to_pitch + j, element, 16, there ? 0 : 16);
    else
      __pipeline_memcpy_async(to + i * to_pitch + j, element, sizeof(T), there ? 0 : sizeof(T));
  });
}

template <typename T>
__device__ void store(const traversal<T> &w, const T *from, unsigned from_pitch, uint64_t first,
                      uint64_t rows, T *to) {
  w.over_tile([&](unsigned i, unsigned j) {
    T *const element = to + (first + i) * w.stride + j;
    if (first + i < rows && w.whole)
      *reinterpret_cast<uint4 *>(element) =
          *reinterpret_cast<const uint4 *>(from + i * from_pitch + j);
    else if (first + i < rows)
      *element = from[i * from_pitch + j];
  });
}

/* sums += rows times square, for 8 rows in shared memory. */
template <typename T, unsigned tiles>
__device__ void multiply(const T *rows, unsigned row_pitch, const double *square,
                         double (&sums)[tiles][2]) {
  const unsigned lane = threadIdx.x % 32;
#pragma unroll
  for (unsigned k = 0; k < 8 * tiles; k += 4) {
    const double a = (double)rows[lane / 4 * row_pitch + k + lane % 4];
#pragma unroll
    for (unsigned j = 0; j < tiles; j++)
      multiply_add(sums[j], a, square[(k + lane % 4) * pitch<T, tiles>::square + j * 8 + lane / 4]);
  }
}

/* Store 8 new rows in `to`, from their sums. Returns the lane's part of the sum of elements of `to`
 * times elements of `from`. */
template <typename T, unsigned tiles>
__device__ double put_rows(const double (&sums)[tiles][2], const T *from, T *to) {
  typedef pitch<T, tiles> p;
  const unsigned lane = threadIdx.x % 32;
  double inner = 0.0;
#pragma unroll
  for (unsigned j = 0; j < tiles; j++)
#pragma unroll
    for (unsigned h = 0; h < 2; h++) {
      const unsigned column = j * 8 + lane % 4 * 2 + h;
      const T x = (T)sums[j][h];
      to[lane / 4 * p::out + column] = x;
      inner += (double)from[lane / 4 * p::in + column] * (double)x;
    }
  return inner;
}

/* gram += the 16 rows transposed times the rows: the tiles of the upper triangle. */
template <typename T, unsigned tiles>
__device__ void add_gram(const T *rows, unsigned row_pitch,
                         double (&gram)[tiles * (tiles + 1) / 2][2]) {
  const unsigned lane = threadIdx.x % 32;
#pragma unroll
  for (unsigned k = 0; k < tile_rows; k += 4) {
    double x[tiles];
    unsigned at = 0;
#pragma unroll
    for (unsigned j = 0; j < tiles; j++)
      x[j] = (double)rows[(k + lane % 4) * row_pitch + j * 8 + lane / 4];
#pragma unroll
    for (unsigned i = 0; i < tiles; i++)
#pragma unroll
      for (unsigned j = i; j < tiles; j++, at++)
        multiply_add(gram[at], x[i], x[j]);
  }
}

template <unsigned width, unsigned square_pitch>
__device__ void load_square(const double *from, unsigned n, double *to) {
  for (unsigned e = threadIdx.x; e < width * width; e += warps * 32) {
    const unsigned i = e / width;
    const unsigned j = e % width;
    to[i * square_pitch + j] = i < n && j < n ? from[i * n + j] : 0.0;
  }
}

/* Store the sums of the block; its warps add theirs one after the other. */
template <unsigned tiles>
__device__ void put_sums(const double (&gram)[tiles * (tiles + 1) / 2][2], double inner, unsigned n,
                         double *shared, double *to) {
  constexpr unsigned width = 8 * tiles;
  double *const inners = shared + width * width;
  const unsigned lane = threadIdx.x % 32;
  for (unsigned far = 16; far > 0; far /= 2)
    inner += __shfl_down_sync(~0U, inner, far);
  for (unsigned w = 0; w < warps; w++) {
    __syncthreads();
    if (threadIdx.x / 32 != w)
      continue;
    unsigned at = 0;
#pragma unroll
    for (unsigned i = 0; i < tiles; i++)
#pragma unroll
      for (unsigned j = i; j < tiles; j++, at++)
#pragma unroll
        for (unsigned h = 0; h < 2; h++) {
          double *const sum = &shared[(i * 8 + lane / 4) * width + j * 8 + lane % 4 * 2 + h];
          *sum = w == 0 ? gram[at][h] : *sum + gram[at][h];
        }
    if (lane == 0)
      inners[w] = inner;
  }
  __syncthreads();
  for (unsigned e = threadIdx.x; e < n * n; e += warps * 32)
    to[e] = e / n <= e % n ? shared[e / n * width + e % n] : 0.0;
  if (threadIdx.x == 0) {
    double sum = 0.0;
    for (unsigned w = 0; w < warps; w++)
      sum += inners[w];
    to[n * n] = sum;
  }
}

template <typename T> struct rows_of {
  const T *from;
  T *to;
  uint64_t rows;
  uint64_t stride; /* amped_row_pass.stride */
  unsigned ld;
  unsigned n;
  const double *square;
  const double *keep;
  double *partials;
};

/* Every warp takes tiles of 16 rows in a strided loop, and copies the next tile while it works on
 * one. */
template <typename T, unsigned tiles, bool solves, bool keeps>
__global__ void __launch_bounds__(warps * 32, tiles > 4 ? 1 : 2) pass_over(const rows_of<T> r) {
  typedef pitch<T, tiles> p;
  extern __shared__ __align__(16) unsigned char shared[];
  room<T, tiles> *const own = reinterpret_cast<room<T, tiles> *>(shared) + threadIdx.x / 32;
  double *const square = reinterpret_cast<double *>(shared + warps * sizeof(room<T, tiles>));
  double *const keep = square + p::width * p::square;
  const T *const source = solves ? r.from : r.to;
  const traversal<T> w(r.stride, r.ld, r.n);
  const uint64_t step = (uint64_t)gridDim.x * warps * tile_rows;
  uint64_t first = ((uint64_t)blockIdx.x * warps + threadIdx.x / 32) * tile_rows;
  double gram[tiles * (tiles + 1) / 2][2] = {};
  double inner = 0.0;
  /* Padding columns of rows in shared memory stay zero. */
  for (unsigned e = threadIdx.x; e < warps * sizeof(room<T, tiles>) / 16; e += warps * 32)
    reinterpret_cast<uint4 *>(shared)[e] = uint4{0, 0, 0, 0};
  if (solves)
    load_square<p::width, p::square>(r.square, r.n, square);
  if (keeps)
    load_square<p::width, p::square>(r.keep, r.n, keep);
  __syncthreads();
  if (first < r.rows)
    fetch(w, source, first, r.rows, p::in, own->in[0]);
  __pipeline_commit();
  for (unsigned turn = 0; first < r.rows; first += step, turn ^= 1) {
    const T *const in = own->in[turn];
    if (keeps)
      fetch(w, (const T *)r.to, first, r.rows, p::out, own->out);
    __pipeline_commit();
    if (first + step < r.rows)
      fetch(w, source, first + step, r.rows, p::in, own->in[turn ^ 1]);
    __pipeline_commit();
    __pipeline_wait_prior(1);
    __syncwarp();
    if (solves) {
      double sums[tile_rows / 8][tiles][2] = {};
#pragma unroll
      for (unsigned half = 0; half < tile_rows / 8; half++) {
        multiply<T, tiles>(in + half * 8 * p::in, p::in, square, sums[half]);
        if (keeps)
          multiply<T, tiles>(own->out + half * 8 * p::out, p::out, keep, sums[half]);
      }
      __syncwarp();
#pragma unroll
      for (unsigned half = 0; half < tile_rows / 8; half++)
        inner +=
            put_rows<T, tiles>(sums[half], in + half * 8 * p::in, own->out + half * 8 * p::out);
      __syncwarp();
      store(w, (const T *)own->out, p::out, first, r.rows, r.to);
      add_gram<T, tiles>(own->out, p::out, gram);
    } else {
      add_gram<T, tiles>(in, p::in, gram);
    }
    __syncwarp();
  }
  __pipeline_wait_prior(0);
  __syncthreads();
  put_sums<tiles>(gram, inner, r.n, reinterpret_cast<double *>(shared),
                  r.partials + (uint64_t)blockIdx.x * (r.n * r.n + 1));
}

template <typename T, unsigned tiles, bool solves, bool keeps>
amped_status launch(const rows_of<T> &r, int blocks, cudaStream_t stream) {
  const size_t bytes = shared_bytes<T, tiles>(solves, keeps);
  const auto kernel = pass_over<T, tiles, solves, keeps>;
  AMPED_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes));
  kernel<<<(unsigned)blocks, warps * 32, bytes, stream>>>(r);
  AMPED_CUDA_LAUNCHED("the kernel of a row pass");
  return AMPED_OK;
}

template <typename T, unsigned tiles>
amped_status launch_form(const rows_of<T> &r, int blocks, cudaStream_t stream) {
  if (r.from == nullptr)
    return launch<T, tiles, false, false>(r, blocks, stream);
  return r.keep != nullptr ? launch<T, tiles, true, true>(r, blocks, stream)
                           : launch<T, tiles, true, false>(r, blocks, stream);
}

/* Launch the kernel for the fewest tiles of 8 columns that hold a row. */
template <typename T, unsigned tiles = 1>
amped_status launch_width(const rows_of<T> &r, int blocks, cudaStream_t stream) {
  if constexpr ((tiles + 1) * 8 * sizeof(T) <= short_bytes)
    if (r.ld > 8 * tiles)
      return launch_width<T, tiles + 1>(r, blocks, stream);
  return launch_form<T, tiles>(r, blocks, stream);
}

template <typename T> amped_status run(const amped_row_pass *pass, cudaStream_t stream) {
  rows_of<T> r = {};
  r.from = static_cast<const T *>(pass->d_from);
  r.to = static_cast<T *>(pass->d_to);
  r.rows = pass->rows;
  r.stride = pass->stride;
  r.ld = (unsigned)pass->ld;
  r.n = (unsigned)pass->ncomps;
  r.square = pass->d_square;
  r.keep = pass->d_keep;
  r.partials = pass->d_partials;
  return launch_width<T>(r, pass->blocks, stream);
}

/* A warp adds up one sum. */
__global__ void add_up(const double *partials, unsigned count, unsigned n, double *sums) {
  const unsigned e = blockIdx.x * warps + threadIdx.x / 32;
  const unsigned lane = threadIdx.x % 32;
  if (e > n * n)
    return;
  const unsigned i = e / n;
  const unsigned j = e % n;
  const unsigned from = e == n * n || i < j ? e : j * n + i;
  double sum = 0.0;
  for (unsigned k = lane; k < count; k += 32)
    sum += partials[(uint64_t)k * (n * n + 1) + from];
  for (unsigned far = 16; far > 0; far /= 2)
    sum += __shfl_down_sync(~0U, sum, far);
  if (lane == 0)
    sums[e] = sum;
}

} // namespace

bool amped_row_pass_is_short(const amped_plan *plan) {
  return amped_plan_row_bytes(plan) <= short_bytes;
}

amped_status amped_row_pass_run(const amped_row_pass *pass, cudaStream_t stream) {
  return pass->type == AMPED_F32 ? run<float>(pass, stream) : run<double>(pass, stream);
}

amped_status amped_row_pass_add_partials(const double *d_partials, int count, int ncomps,
                                         double *d_sums, cudaStream_t stream) {
  const unsigned n = (unsigned)ncomps;
  add_up<<<(n * n + 1 + warps - 1) / warps, warps * 32, 0, stream>>>(d_partials, (unsigned)count, n,
                                                                     d_sums);
  AMPED_CUDA_LAUNCHED("the kernel that adds up partial sums");
  return AMPED_OK;
}
