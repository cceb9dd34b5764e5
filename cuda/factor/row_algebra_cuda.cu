/* Dense work on factor rows: conversion, solve, gram and scaling, by cuBLAS or in one pass. */
#include "cuda/factor/row_algebra_cuda.h"

#include "cuda/device/cublas_cuda.h"
#include "cuda/factor/row_descent_cuda.h"
#include "cuda/factor/row_pass_cuda.h"

extern "C" {
#include "base/mem.h"
}

#include <cstring>

namespace {

constexpr uint64_t wide_bytes = UINT64_C(64) << 20;
constexpr uint64_t gram_bytes = UINT64_C(16) << 20;
constexpr uint64_t blas_bytes = UINT64_C(32) << 20; /* cuBLAS's recommendation from Hopper on */
constexpr int most_grams = 256;
constexpr uint64_t rows_each = 128; /* least rows of a partial gram matrix */
constexpr unsigned dot_threads = 256;
constexpr uint64_t most_blocks = 1 << 20;

/* Thread blocks of 32 columns x 8 rows. The threads of a grid stride over all rows. */
dim3 row_block() {
  return dim3(32, 8);
}
unsigned row_grid(uint64_t rows) {
  const uint64_t blocks = amped_ceil_div(rows, 8);
  return (unsigned)(blocks < most_blocks ? blocks : most_blocks);
}
__device__ uint64_t first_row() {
  return (uint64_t)blockIdx.x * blockDim.y + threadIdx.y;
}
__device__ uint64_t row_step() {
  return (uint64_t)gridDim.x * blockDim.y;
}

/* widen: copy padded rows of T to rows of doubles without padding. gather: the same, of rows at
 * positions. narrow: copy rows back to padded rows. */
template <typename T>
__global__ void widen(const T *from, uint64_t rows, uint64_t ld, unsigned ncomps, double *to) {
  for (uint64_t i = first_row(); i < rows; i += row_step())
    for (unsigned c = threadIdx.x; c < ncomps; c += blockDim.x)
      to[i * ncomps + c] = (double)from[i * ld + c];
}
template <typename T>
__global__ void gather(const T *from, const uint64_t *positions, uint64_t rows, uint64_t ld,
                       unsigned ncomps, double *to) {
  for (uint64_t i = first_row(); i < rows; i += row_step())
    for (unsigned c = threadIdx.x; c < ncomps; c += blockDim.x)
      to[i * ncomps + c] = positions[i] == AMPED_NO_ROW ? 0.0 : (double)from[positions[i] * ld + c];
}
template <typename T>
__global__ void narrow(const double *from, uint64_t rows, uint64_t ld, unsigned ncomps, T *to) {
  for (uint64_t i = first_row(); i < rows; i += row_step())
    for (unsigned c = threadIdx.x; c < ld; c += blockDim.x)
      to[i * ld + c] = c < ncomps ? (T)from[i * ncomps + c] : T(0);
}

/* models_at: a warp works on one cell at a time. */
constexpr unsigned model_threads = 256;
constexpr uint64_t model_blocks = 4096;
template <typename T>
__global__ void __launch_bounds__(model_threads)
    find_models(const amped_model_rows_cuda a, uint64_t count, double *models) {
  const unsigned warps = gridDim.x * (model_threads / 32);
  const unsigned lane = threadIdx.x % 32;
  for (uint64_t i = (blockIdx.x * model_threads + threadIdx.x) / 32; i < count; i += warps) {
    double sum = 0.0;
    for (unsigned c = lane; c < a.ncomps; c += 32) {
      const bool adds = a.biased && c == a.ncomps - 1;
      double x = adds ? 0.0 : 1.0;
      for (int m = 0; m < a.order; m++) {
        const uint64_t position = a.positions[(uint64_t)m * count + i];
        const double y = position == AMPED_NO_ROW
                             ? a.instead[(unsigned)m * a.ncomps + c]
                             : (double)static_cast<const T *>(a.factors[m])[position * a.ld + c];
        x = adds ? x + y : x * y;
      }
      sum += x;
    }
    for (unsigned half = 16; half > 0; half /= 2)
      sum += __shfl_xor_sync(0xffffffffU, sum, half);
    if (lane == 0)
      models[i] = sum;
  }
}

/* Scale columns in groups of 16 bytes. A thread stays in its columns, because the number of threads
 * is a multiple of the groups of a row. */
constexpr unsigned scale_threads = 256;
constexpr unsigned scale_blocks = 4096;
template <typename T>
__global__ void scale_columns(uint4 *x, uint64_t rows, unsigned groups, unsigned ncomps,
                              const double *scale) {
  constexpr unsigned each = 16 / sizeof(T);
  const uint64_t thread = (uint64_t)blockIdx.x * scale_threads + threadIdx.x;
  const uint64_t threads = (uint64_t)gridDim.x * scale_threads / groups * groups;
  double by[each];
  if (thread >= threads)
    return;
#pragma unroll
  for (unsigned k = 0; k < each; k++) {
    const unsigned c = (unsigned)(thread % groups) * each + k;
    by[k] = c < ncomps ? scale[c] : 0.0;
  }
#pragma unroll 4
  for (uint64_t i = thread; i < rows * groups; i += threads) {
    uint4 some = x[i];
    T *const elements = reinterpret_cast<T *>(&some);
#pragma unroll
    for (unsigned k = 0; k < each; k++)
      elements[k] = (T)((double)elements[k] * by[k]);
    x[i] = some;
  }
}

/* Returns, in thread 0 only, the sum of x over a block of dot_threads threads, added pairwise. */
__device__ double sum_of_block(double x) {
  __shared__ double sums[dot_threads];
  sums[threadIdx.x] = x;
  for (unsigned half = dot_threads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half)
      sums[threadIdx.x] += sums[threadIdx.x + half];
  }
  return sums[0];
}

/* Inner product of a and b. Each thread block stores its part after its partial gram matrix. */
template <typename T>
__global__ void dot(const T *a, const T *b, uint64_t n, unsigned elements, double *partials) {
  double sum = 0.0;
  for (uint64_t i = (uint64_t)blockIdx.x * dot_threads + threadIdx.x; i < n;
       i += (uint64_t)gridDim.x * dot_threads)
    sum += (double)a[i] * (double)b[i];
  sum = sum_of_block(sum);
  if (threadIdx.x == 0)
    partials[(uint64_t)blockIdx.x * (elements + 1) + elements] = sum;
}

/* Add up columns over one strip of rows per thread block: absolute values if chosen is NULL, else
 * the rows i with chosen[i] != 0. Groups of threads, one for each column, take a strip's rows in
 * turn. */
template <typename T>
__global__ void __launch_bounds__(dot_threads)
    add_columns(const T *x, uint64_t rows, uint64_t ld, unsigned ncomps, const uint8_t *chosen,
                double *partials) {
  __shared__ double sums[dot_threads];
  const uint64_t first = rows * blockIdx.x / gridDim.x;
  const uint64_t end = rows * (blockIdx.x + 1) / gridDim.x;
  for (unsigned base = 0; base < ncomps; base += dot_threads) {
    const unsigned lanes = ncomps - base < dot_threads ? ncomps - base : dot_threads;
    const unsigned groups = dot_threads / lanes;
    const unsigned lane = threadIdx.x % lanes;
    double sum = 0.0;
#pragma unroll 4
    for (uint64_t i = first + threadIdx.x / lanes; i < end && threadIdx.x < groups * lanes;
         i += groups) {
      const double element = (double)x[i * ld + base + lane];
      sum += chosen == nullptr ? fabs(element) : chosen[i] != 0 ? element : 0.0;
    }
    sums[threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.x < lanes) {
      sum = 0.0;
      for (unsigned g = 0; g < groups; g++)
        sum += sums[g * lanes + lane];
      partials[(uint64_t)blockIdx.x * ncomps + base + lane] = sum;
    }
    __syncthreads();
  }
}
__global__ void add_strips(const double *partials, unsigned strips, unsigned ncomps, double *sums) {
  for (unsigned c = threadIdx.x; c < ncomps; c += blockDim.x) {
    double sum = 0.0;
    for (unsigned s = 0; s < strips; s++)
      sum += partials[(uint64_t)s * ncomps + c];
    sums[c] = sum;
  }
}

/* --- row products ----------------------------------------------------------------------------- */

constexpr unsigned product_threads = 256;
constexpr uint64_t most_product_strips = 1024;

/* Multiply rows by rows of the output, over one strip of rows per thread block. numbers: `by`,
 * `weight`, `least` and `raised` of backend/row_product.h. A block's partial sums: the columns'
 * sums, their squares, the violation, and the number of raised entries. */
template <typename T>
__global__ void __launch_bounds__(product_threads)
    multiply_rows(T *x, const T *output, uint64_t rows, uint64_t ld, unsigned ncomps,
                  const double *numbers, bool raises, bool measures, double *partials) {
  __shared__ double sums[product_threads], squares[product_threads], violations[product_threads];
  __shared__ unsigned long long counts[product_threads];
  const unsigned lanes = ncomps < product_threads ? ncomps : product_threads;
  const unsigned abreast = product_threads / lanes; /* rows that a block works on at a time */
  const unsigned at = threadIdx.x / lanes;
  const uint64_t first = rows * blockIdx.x / gridDim.x;
  const uint64_t end = rows * (blockIdx.x + 1) / gridDim.x;
  double *const own = partials + (uint64_t)blockIdx.x * (2 * ncomps + 2);
  amped_row_product p = {};
  p.by = numbers;
  p.weight = numbers + ncomps;
  p.least = raises ? numbers + 2 * ncomps : nullptr;
  p.raised = numbers + 3 * ncomps;
  double violation = 0.0;
  uint64_t raised = 0;
  for (unsigned left = 0; left < ncomps; left += lanes) {
    const unsigned c = left + threadIdx.x % lanes;
    double sum = 0.0;
    double square = 0.0;
    for (uint64_t i = first + at; i < end && at < abreast && c < ncomps; i += abreast) {
      const double old = (double)x[i * ld + c];
      T entry =
          (T)amped_row_product_entry(&p, c, old, (double)output[i * ld + c], &violation, &raised);
      if (measures)
        entry = x[i * ld + c];
      else
        x[i * ld + c] = entry;
      sum += (double)entry;
      square += (double)entry * (double)entry;
    }
    sums[threadIdx.x] = sum;
    squares[threadIdx.x] = square;
    __syncthreads();
    if (at == 0 && c < ncomps) {
      for (unsigned k = 1; k < abreast; k++) {
        sum += sums[threadIdx.x + k * lanes];
        square += squares[threadIdx.x + k * lanes];
      }
      own[c] = sum;
      own[ncomps + c] = square;
    }
    __syncthreads();
  }
  violations[threadIdx.x] = violation;
  counts[threadIdx.x] = raised;
  __syncthreads();
  if (threadIdx.x > 0)
    return;
  for (unsigned k = 1; k < product_threads; k++) {
    violation = violations[k] > violation ? violations[k] : violation;
    raised += counts[k];
  }
  own[2 * ncomps] = violation;
  own[2 * ncomps + 1] = (double)raised;
}

/* Add up the partial sums of strips, in their order; of violations, take the largest. */
__global__ void add_product_strips(const double *partials, unsigned strips, unsigned ncomps,
                                   double *sums) {
  const unsigned numbers = 2 * ncomps + 2;
  for (unsigned c = threadIdx.x; c < numbers; c += blockDim.x) {
    double sum = 0.0;
    for (unsigned s = 0; s < strips; s++) {
      const double x = partials[(uint64_t)s * numbers + c];
      if (c == 2 * ncomps)
        sum = x > sum ? x : sum;
      else
        sum += x;
    }
    sums[c] = sum;
  }
}

/* The workspace: rows of a chunk, number of partial matrices, doubles of each section, and bytes of
 * everything (with cuBLAS's own section). The bytes are enough for any smaller ncomps, too. */
struct sections {
  uint64_t chunk;
  uint64_t batch;
  uint64_t wide;
  uint64_t square;
  uint64_t instead;
  uint64_t partials;
  uint64_t bytes;
};

uint64_t least(uint64_t a, uint64_t b) {
  return a < b ? a : b;
}
uint64_t most(uint64_t a, uint64_t b) {
  return a > b ? a : b;
}
uint64_t aligned_doubles(uint64_t n) {
  return amped_ceil_div(n, 32) * 32;
}

sections sections_for(const amped_plan *plan) {
  sections s = {};
  const uint64_t ncomps = (uint64_t)plan->ncomps;
  uint64_t rows = 1;
  for (int m = 0; m < plan->order; m++)
    rows = most(rows, amped_plan_factor_rows(plan, m));
  s.chunk = least(rows, wide_bytes / (2 * ncomps * sizeof(double)));
  s.batch = most(1, least(most_grams, gram_bytes / (ncomps * ncomps * sizeof(double))));
  s.wide = aligned_doubles(s.chunk * ncomps);
  s.square = aligned_doubles(ncomps * ncomps + 1);
  s.instead = aligned_doubles((uint64_t)plan->order * ncomps);
  s.partials = aligned_doubles(s.batch * (ncomps * ncomps + 1));
  const uint64_t most_wide = least(rows * ncomps, wide_bytes / (2 * sizeof(double)));
  const uint64_t most_partials =
      most(s.partials, least(most_grams * (ncomps * ncomps + 1),
                             gram_bytes / sizeof(double) + (uint64_t)most_grams));
  s.bytes =
      (2 * aligned_doubles(most_wide) + 2 * s.square + s.instead + aligned_doubles(most_partials)) *
          sizeof(double) +
      blas_bytes;
  return s;
}

template <typename T>
amped_status put(amped_dense_cuda *d, T *d_rows, uint64_t count, const double *h_rows) {
  const unsigned ncomps = (unsigned)d->ncomps;
  for (uint64_t done = 0; done < count; done += d->chunk) {
    const uint64_t n = least(d->chunk, count - done);
    AMPED_CUDA(cudaMemcpyAsync(d->d_wide, h_rows + done * ncomps, n * ncomps * sizeof(double),
                               cudaMemcpyHostToDevice, d->stream));
    narrow<<<row_grid(n), row_block(), 0, d->stream>>>(d->d_wide, n, d->ld, ncomps,
                                                       d_rows + done * d->ld);
    AMPED_CUDA_LAUNCHED("the kernel that stores rows");
  }
  return AMPED_OK;
}

template <typename T>
amped_status get(amped_dense_cuda *d, const T *d_rows, uint64_t count, double *h_rows) {
  const unsigned ncomps = (unsigned)d->ncomps;
  for (uint64_t done = 0; done < count; done += d->chunk) {
    const uint64_t n = least(d->chunk, count - done);
    widen<<<row_grid(n), row_block(), 0, d->stream>>>(d_rows + done * d->ld, n, d->ld, ncomps,
                                                      d->d_wide);
    AMPED_CUDA_LAUNCHED("the kernel that reads rows");
    AMPED_CUDA(cudaMemcpyAsync(h_rows + done * ncomps, d->d_wide, n * ncomps * sizeof(double),
                               cudaMemcpyDeviceToHost, d->stream));
  }
  return AMPED_OK;
}

/* to = from times d_square, plus `old` times to. cuBLAS stores matrices by columns, so our matrices
 * are transposed for it. `from_ld`, `to_ld`: doubles per row. */
amped_status multiply(amped_dense_cuda *d, const double *from, uint64_t from_ld, uint64_t rows,
                      const double *d_square, double old, double *to, uint64_t to_ld) {
  const double one = 1.0;
  AMPED_CUBLAS(cublasDgemm(d->blas, CUBLAS_OP_N, CUBLAS_OP_N, d->ncomps, (int)rows, d->ncomps, &one,
                           d_square, d->ncomps, from, (int)from_ld, &old, to, (int)to_ld));
  return AMPED_OK;
}

template <typename T> amped_status widen_rows(amped_dense_cuda *d, const T *d_rows, uint64_t rows) {
  widen<<<row_grid(rows), row_block(), 0, d->stream>>>(d_rows, rows, d->ld, (unsigned)d->ncomps,
                                                       d->d_wide);
  AMPED_CUDA_LAUNCHED("the kernel that widens rows");
  return AMPED_OK;
}

amped_status solve_chunk(amped_dense_cuda *d, const double *d_output, uint64_t rows, bool keeps,
                         double *d_rows) {
  if (keeps)
    AMPED_TRY(widen_rows(d, d_rows, rows));
  AMPED_TRY(multiply(d, d_output, d->ld, rows, d->d_square, 0.0, d_rows, d->ld));
  if (!keeps)
    return AMPED_OK;
  return multiply(d, d->d_wide, (uint64_t)d->ncomps, rows, d->d_keep, 1.0, d_rows, d->ld);
}

amped_status solve_chunk(amped_dense_cuda *d, const float *d_output, uint64_t rows, bool keeps,
                         float *d_rows) {
  const uint64_t n = (uint64_t)d->ncomps;
  AMPED_TRY(widen_rows(d, d_output, rows));
  AMPED_TRY(multiply(d, d->d_wide, n, rows, d->d_square, 0.0, d->d_product, n));
  if (keeps) {
    AMPED_TRY(widen_rows(d, d_rows, rows));
    AMPED_TRY(multiply(d, d->d_wide, n, rows, d->d_keep, 1.0, d->d_product, n));
  }
  narrow<<<row_grid(rows), row_block(), 0, d->stream>>>(d->d_product, rows, d->ld, (unsigned)n,
                                                        d_rows);
  AMPED_CUDA_LAUNCHED("the kernel that narrows rows");
  return AMPED_OK;
}

template <typename T>
amped_status solve(amped_dense_cuda *d, const T *d_output, uint64_t count, bool keeps, T *d_rows) {
  for (uint64_t done = 0; done < count; done += d->chunk)
    AMPED_TRY(solve_chunk(d, d_output + done * d->ld, least(d->chunk, count - done), keeps,
                          d_rows + done * d->ld));
  return AMPED_OK;
}

/* Add a^T a to the partial matrices. The product of a tall, thin matrix is one tile of output,
 * which only one multiprocessor would compute. Rows are therefore cut into slabs with a partial
 * matrix each. Rows left over are added to the first partial matrix. */
amped_status add_grams(amped_dense_cuda *d, const double *a, uint64_t ld, uint64_t rows) {
  const int r = d->ncomps;
  const double one = 1.0;
  const uint64_t slab = rows / (uint64_t)d->used;
  const uint64_t done = slab * (uint64_t)d->used;
  const long long step = (long long)(slab * ld);
  if (slab > 0)
    AMPED_CUBLAS(cublasDgemmStridedBatched(d->blas, CUBLAS_OP_N, CUBLAS_OP_T, r, r, (int)slab, &one,
                                           a, (int)ld, step, a, (int)ld, step, &one, d->d_partials,
                                           r, (long long)r * r + 1, d->used));
  if (done < rows)
    AMPED_CUBLAS(cublasDgemm(d->blas, CUBLAS_OP_N, CUBLAS_OP_T, r, r, (int)(rows - done), &one,
                             a + done * ld, (int)ld, a + done * ld, (int)ld, &one, d->d_partials,
                             r));
  return AMPED_OK;
}

amped_status gram_chunk(amped_dense_cuda *d, const double *d_rows, uint64_t rows) {
  return add_grams(d, d_rows, d->ld, rows);
}

amped_status gram_chunk(amped_dense_cuda *d, const float *d_rows, uint64_t rows) {
  AMPED_TRY(widen_rows(d, d_rows, rows));
  return add_grams(d, d->d_wide, (uint64_t)d->ncomps, rows);
}

/* Partial inner products of rows and output, stored after the partial grams. */
template <typename T>
amped_status partial_dots(amped_dense_cuda *d, const T *d_output, const T *d_rows, uint64_t count) {
  dot<<<(unsigned)d->used, dot_threads, 0, d->stream>>>(
      d_output, d_rows, count * d->ld, (unsigned)(d->ncomps * d->ncomps), d->d_partials);
  AMPED_CUDA_LAUNCHED("the inner product kernel");
  return AMPED_OK;
}

/* Partial grams of the rows; and the partial inner products if d_output is not NULL. */
template <typename T>
amped_status partial_sums(amped_dense_cuda *d, const T *d_output, const T *d_rows, uint64_t count) {
  const unsigned elements = (unsigned)(d->ncomps * d->ncomps);
  AMPED_CUDA(cudaMemsetAsync(d->d_partials, 0, (uint64_t)d->used * (elements + 1) * sizeof(double),
                             d->stream));
  for (uint64_t done = 0; done < count; done += d->chunk)
    AMPED_TRY(gram_chunk(d, d_rows + done * d->ld, least(d->chunk, count - done)));
  return d_output != nullptr ? partial_dots(d, d_output, d_rows, count) : AMPED_OK;
}

/* Make new rows by cuBLAS, if d_output is not NULL; and the partial sums over them, if `adds`. */
template <typename T>
amped_status pass_by_blas(amped_dense_cuda *d, const void *d_output, uint64_t count, bool keeps,
                          bool adds, void *d_rows) {
  const T *const from = static_cast<const T *>(d_output);
  T *const rows = static_cast<T *>(d_rows);
  if (from != nullptr)
    AMPED_TRY(solve(d, from, count, keeps, rows));
  return adds ? partial_sums(d, from, rows, count) : AMPED_OK;
}

/* Make new rows if d_output is not NULL, and the partial sums over them if `adds`: in one pass if
 * rows are short, else by cuBLAS. */
amped_status pass(amped_dense_cuda *d, uint64_t stride, const void *d_output, uint64_t count,
                  bool keeps, bool adds, void *d_rows) {
  d->used = (int)most(1, least((uint64_t)d->batch, amped_ceil_div(count, rows_each)));
  if (d->is_short) {
    amped_row_pass p = {};
    p.type = d->value_type;
    p.rows = count;
    p.ld = d->ld;
    p.stride = stride;
    p.ncomps = d->ncomps;
    p.d_from = d_output;
    p.d_square = d->d_square;
    p.d_keep = keeps ? d->d_keep : nullptr;
    p.d_to = d_rows;
    p.blocks = d->used;
    p.d_partials = d->d_partials;
    return amped_row_pass_run(&p, d->stream);
  }
  return d->value_type == AMPED_F32 ? pass_by_blas<float>(d, d_output, count, keeps, adds, d_rows)
                                    : pass_by_blas<double>(d, d_output, count, keeps, adds, d_rows);
}

template <typename T> amped_status scale(amped_dense_cuda *d, void *d_rows, uint64_t count) {
  const uint64_t groups = d->ld * sizeof(T) / 16;
  const uint64_t blocks = amped_ceil_div(count * groups, scale_threads);
  const uint64_t fewest = amped_ceil_div(groups, scale_threads); /* at least a thread for each
                                                                    group */
  if (count == 0)
    return AMPED_OK;
  scale_columns<T>
      <<<(unsigned)most(fewest, least(blocks, scale_blocks)), scale_threads, 0, d->stream>>>(
          static_cast<uint4 *>(d_rows), count, (unsigned)groups, (unsigned)d->ncomps, d->d_square);
  AMPED_CUDA_LAUNCHED("the kernel that scales columns");
  return AMPED_OK;
}

/* Copy to d_square or d_keep through pinned memory, in which each of the two has its own place. */
amped_status to_device(amped_dense_cuda *d, double *d_to, const double *h_from, uint64_t count) {
  double *const h_pinned = d->h_pinned + (d_to - d->d_square);
  memcpy(h_pinned, h_from, count * sizeof(double));
  AMPED_CUDA(
      cudaMemcpyAsync(d_to, h_pinned, count * sizeof(double), cudaMemcpyHostToDevice, d->stream));
  return AMPED_OK;
}

amped_status wait(amped_dense_cuda *d) {
  AMPED_CUDA(cudaStreamSynchronize(d->stream));
  return AMPED_OK;
}

/* Sum the partial matrices into h_pinned. */
amped_status fetch_sums(amped_dense_cuda *d) {
  const uint64_t elements = (uint64_t)d->ncomps * (uint64_t)d->ncomps + 1;
  AMPED_TRY(amped_row_pass_add_partials(d->d_partials, d->used, d->ncomps, d->d_square, d->stream));
  AMPED_CUDA(cudaMemcpyAsync(d->h_pinned, d->d_square, elements * sizeof(double),
                             cudaMemcpyDeviceToHost, d->stream));
  return wait(d);
}

/* h_pinned = sums of columns; arguments as for add_columns. */
amped_status sum_columns(amped_dense_cuda *d, const void *d_rows, uint64_t count,
                         const uint8_t *d_chosen) {
  const unsigned n = (unsigned)d->ncomps;
  const unsigned strips = (unsigned)d->batch;
  if (d->value_type == AMPED_F32)
    add_columns<<<strips, dot_threads, 0, d->stream>>>(static_cast<const float *>(d_rows), count,
                                                       d->ld, n, d_chosen, d->d_partials);
  else
    add_columns<<<strips, dot_threads, 0, d->stream>>>(static_cast<const double *>(d_rows), count,
                                                       d->ld, n, d_chosen, d->d_partials);
  AMPED_CUDA_LAUNCHED("the kernel that adds up columns");
  add_strips<<<1, dot_threads, 0, d->stream>>>(d->d_partials, strips, n, d->d_square);
  AMPED_CUDA_LAUNCHED("the kernel that adds up strips");
  AMPED_CUDA(cudaMemcpyAsync(d->h_pinned, d->d_square, n * sizeof(double), cudaMemcpyDeviceToHost,
                             d->stream));
  return wait(d);
}

} // namespace

amped_status amped_dense_cuda_create(amped_dense_cuda *d, amped_device *device) {
  if (device->blas == nullptr) {
    AMPED_CUBLAS(cublasCreate(&device->blas));
    AMPED_CUBLAS(cublasSetStream(device->blas, device->stream_dense));
  }
  d->stream = device->stream_dense;
  d->blas = device->blas;
  return AMPED_OK;
}

void amped_dense_cuda_destroy(amped_dense_cuda *d) {
  amped_cuda_free(d->d_block);
  amped_cuda_host_free(d->h_pinned);
  memset(d, 0, sizeof *d);
}

uint64_t amped_dense_cuda_bytes(const amped_plan *plan) {
  return sections_for(plan).bytes;
}

/* Set sizes and sections of d_block for the plan. */
static void cut_block(amped_dense_cuda *d, const amped_plan *plan) {
  const sections s = sections_for(plan);
  d->ncomps = plan->ncomps;
  d->ld = plan->ld;
  d->value_type = plan->value_type;
  d->is_short = amped_row_pass_is_short(plan);
  d->chunk = s.chunk;
  d->batch = (int)s.batch;
  d->d_wide = reinterpret_cast<double *>(static_cast<char *>(d->d_block) + blas_bytes);
  d->d_product = d->d_wide + s.wide;
  d->d_square = d->d_product + s.wide;
  d->d_keep = d->d_square + s.square;
  d->d_instead = d->d_keep + s.square;
  d->d_partials = d->d_instead + s.instead;
  d->wide = s.wide;
}

void amped_dense_cuda_borrow(amped_dense_cuda *d, const amped_dense_cuda *of,
                             const amped_plan *plan) {
  *d = *of;
  cut_block(d, plan);
}

amped_status amped_dense_cuda_prepare(amped_dense_cuda *d, const amped_plan *plan) {
  const sections s = sections_for(plan);
  amped_cuda_free(d->d_block);
  d->d_block = nullptr;
  amped_cuda_host_free(d->h_pinned);
  d->h_pinned = nullptr;
  AMPED_TRY(amped_cuda_host_alloc((void **)&d->h_pinned, 2 * s.square * sizeof(double),
                                  "matrices of components"));
  AMPED_TRY(amped_cuda_malloc(&d->d_block, s.bytes, "the dense workspace"));
  AMPED_CUBLAS(cublasSetWorkspace(d->blas, d->d_block, blas_bytes));
  cut_block(d, plan);
  return AMPED_OK;
}

amped_status amped_dense_cuda_put(amped_dense_cuda *d, void *d_rows, uint64_t count,
                                  const double *h_rows) {
  AMPED_TRY(d->value_type == AMPED_F32 ? put(d, static_cast<float *>(d_rows), count, h_rows)
                                       : put(d, static_cast<double *>(d_rows), count, h_rows));
  return wait(d);
}

amped_status amped_dense_cuda_get(amped_dense_cuda *d, const void *d_rows, uint64_t count,
                                  double *h_rows) {
  AMPED_TRY(d->value_type == AMPED_F32
                ? get(d, static_cast<const float *>(d_rows), count, h_rows)
                : get(d, static_cast<const double *>(d_rows), count, h_rows));
  return wait(d);
}

amped_status amped_dense_cuda_get_at(amped_dense_cuda *d, const void *d_factor, uint64_t ld,
                                     uint64_t count, const uint64_t *h_positions, double *h_rows) {
  const unsigned n = (unsigned)d->ncomps;
  uint64_t *const d_positions = reinterpret_cast<uint64_t *>(d->d_product);
  for (uint64_t done = 0; done < count; done += d->chunk) {
    const uint64_t some = least(d->chunk, count - done);
    AMPED_CUDA(cudaMemcpyAsync(d_positions, h_positions + done, some * sizeof *d_positions,
                               cudaMemcpyHostToDevice, d->stream));
    if (d->value_type == AMPED_F32)
      gather<<<row_grid(some), row_block(), 0, d->stream>>>(static_cast<const float *>(d_factor),
                                                            d_positions, some, ld, n, d->d_wide);
    else
      gather<<<row_grid(some), row_block(), 0, d->stream>>>(static_cast<const double *>(d_factor),
                                                            d_positions, some, ld, n, d->d_wide);
    AMPED_CUDA_LAUNCHED("the kernel that gathers rows");
    AMPED_CUDA(cudaMemcpyAsync(h_rows + done * n, d->d_wide, some * n * sizeof(double),
                               cudaMemcpyDeviceToHost, d->stream));
  }
  return wait(d);
}

/* models = values at `some` cells from `first` on. */
static amped_status find_some_models(amped_dense_cuda *d, amped_model_rows_cuda *rows,
                                     uint64_t first, uint64_t some,
                                     const uint64_t *const *h_positions, double *h_models) {
  uint64_t *const d_positions = reinterpret_cast<uint64_t *>(d->d_wide);
  const uint64_t blocks = least(model_blocks, amped_ceil_div(some, model_threads / 32));
  for (int m = 0; m < rows->order; m++)
    AMPED_CUDA(cudaMemcpyAsync(d_positions + (uint64_t)m * some, h_positions[m] + first,
                               some * sizeof *d_positions, cudaMemcpyHostToDevice, d->stream));
  rows->positions = d_positions;
  if (d->value_type == AMPED_F32)
    find_models<float>
        <<<(unsigned)blocks, model_threads, 0, d->stream>>>(*rows, some, d->d_product);
  else
    find_models<double>
        <<<(unsigned)blocks, model_threads, 0, d->stream>>>(*rows, some, d->d_product);
  AMPED_CUDA_LAUNCHED("the kernel of models");
  AMPED_CUDA(cudaMemcpyAsync(h_models + first, d->d_product, some * sizeof *h_models,
                             cudaMemcpyDeviceToHost, d->stream));
  return wait(d);
}

amped_status amped_dense_cuda_models_at(amped_dense_cuda *d, amped_model_rows_cuda *rows,
                                        uint64_t count, const uint64_t *const *h_positions,
                                        const double *const *h_instead, double *h_models) {
  const uint64_t n = (uint64_t)d->ncomps;
  const uint64_t room = d->wide / (uint64_t)rows->order; /* cells whose positions fit d_wide */
  rows->ncomps = (unsigned)n;
  rows->instead = d->d_instead;
  for (int m = 0; m < rows->order; m++)
    if (h_instead[m] != nullptr)
      AMPED_CUDA(cudaMemcpyAsync(d->d_instead + (uint64_t)m * n, h_instead[m], n * sizeof(double),
                                 cudaMemcpyHostToDevice, d->stream));
  for (uint64_t first = 0; first < count; first += room)
    AMPED_TRY(find_some_models(d, rows, first, least(room, count - first), h_positions, h_models));
  return AMPED_OK;
}

/* Add the sums over new rows to *sums. */
static amped_status add_sums(amped_dense_cuda *d, amped_row_sums *sums) {
  const uint64_t elements = (uint64_t)d->ncomps * (uint64_t)d->ncomps;
  AMPED_TRY(fetch_sums(d));
  for (uint64_t e = 0; e < elements; e++)
    sums->gram[e] += d->h_pinned[e];
  sums->inner += d->h_pinned[elements];
  return AMPED_OK;
}

amped_status amped_dense_cuda_solve(amped_dense_cuda *d, uint64_t stride, const void *d_output,
                                    uint64_t count, const double *h_p, const double *h_keep,
                                    void *d_rows, amped_row_sums *sums) {
  const uint64_t elements = (uint64_t)d->ncomps * (uint64_t)d->ncomps;
  const bool keeps = h_keep != nullptr;
  AMPED_TRY(to_device(d, d->d_square, h_p, elements));
  if (keeps)
    AMPED_TRY(to_device(d, d->d_keep, h_keep, elements));
  AMPED_TRY(pass(d, stride, d_output, count, keeps, sums != nullptr, d_rows));
  return sums != nullptr ? add_sums(d, sums) : wait(d);
}

amped_status amped_dense_cuda_descend(amped_dense_cuda *d, const void *d_output, uint64_t count,
                                      const amped_row_descent *descent, void *d_rows,
                                      amped_row_sums *sums) {
  const uint64_t n = (uint64_t)d->ncomps;
  amped_row_descent_cuda rows = {};
  rows.type = d->value_type;
  rows.rows = count;
  rows.ld = d->ld;
  rows.ncomps = d->ncomps;
  rows.nonnegative = descent->nonnegative;
  rows.d_output = d_output;
  rows.d_v = d->d_square;
  rows.d_scale = d->d_keep;
  rows.d_shrink = d->d_keep + n;
  rows.d_rows = d_rows;
  rows.only_cut = descent->nonnegative;
  for (uint64_t c = 0; c < n; c++)
    rows.only_cut = rows.only_cut && !(descent->shrink[c] > 0.0) && descent->v[c * n + c] > 0.0;
  AMPED_TRY(to_device(d, d->d_square, descent->v, n * n));
  AMPED_TRY(to_device(d, d->d_keep, descent->scale, n));
  AMPED_TRY(to_device(d, d->d_keep + n, descent->shrink, n));
  AMPED_TRY(amped_row_descent_cuda_run(&rows, d->stream));
  if (sums == nullptr)
    return wait(d);
  AMPED_TRY(pass(d, 0, nullptr, count, false, true, d_rows));
  AMPED_TRY(d->value_type == AMPED_F32 ? partial_dots(d, static_cast<const float *>(d_output),
                                                      static_cast<const float *>(d_rows), count)
                                       : partial_dots(d, static_cast<const double *>(d_output),
                                                      static_cast<const double *>(d_rows), count));
  return add_sums(d, sums);
}

/* Returns the strips of a row product: their sums take the place of partial matrices. */
static unsigned product_strips(const amped_dense_cuda *d, uint64_t rows) {
  const uint64_t n = (uint64_t)d->ncomps;
  const uint64_t room = (uint64_t)d->batch * (n * n + 1) / (2 * n + 2);
  return (unsigned)most(1, least(least(most_product_strips, room), amped_ceil_div(rows, 8)));
}

/* Upload the numbers of a row product to d_square. */
static amped_status put_product(amped_dense_cuda *d, const amped_row_product *product) {
  const uint64_t n = (uint64_t)d->ncomps;
  AMPED_TRY(to_device(d, d->d_square, product->by, n));
  AMPED_TRY(to_device(d, d->d_square + n, product->weight, n));
  if (product->least == nullptr)
    return AMPED_OK;
  AMPED_TRY(to_device(d, d->d_square + 2 * n, product->least, n));
  return to_device(d, d->d_square + 3 * n, product->raised, n);
}

amped_status amped_dense_cuda_multiply(amped_dense_cuda *d, const void *d_output, uint64_t count,
                                       const amped_row_product *product, void *d_rows,
                                       amped_row_product_sums *sums) {
  const unsigned n = (unsigned)d->ncomps;
  const unsigned strips = product_strips(d, count);
  const bool raises = product->least != nullptr;
  double *const h_sums = d->h_pinned + (d->d_keep - d->d_square);
  AMPED_TRY(put_product(d, product));
  if (d->value_type == AMPED_F32)
    multiply_rows<<<strips, product_threads, 0, d->stream>>>(
        static_cast<float *>(d_rows), static_cast<const float *>(d_output), count, d->ld, n,
        d->d_square, raises, product->measures, d->d_partials);
  else
    multiply_rows<<<strips, product_threads, 0, d->stream>>>(
        static_cast<double *>(d_rows), static_cast<const double *>(d_output), count, d->ld, n,
        d->d_square, raises, product->measures, d->d_partials);
  AMPED_CUDA_LAUNCHED("the kernel of row products");
  add_product_strips<<<1, dot_threads, 0, d->stream>>>(d->d_partials, strips, n, d->d_keep);
  AMPED_CUDA_LAUNCHED("the kernel that adds up row products");
  AMPED_CUDA(cudaMemcpyAsync(h_sums, d->d_keep, (2 * n + 2) * sizeof(double),
                             cudaMemcpyDeviceToHost, d->stream));
  AMPED_TRY(wait(d));
  for (unsigned c = 0; c < n; c++) {
    sums->sums[c] += h_sums[c];
    sums->squares[c] += h_sums[n + c];
  }
  if (h_sums[2 * n] > sums->violation)
    sums->violation = h_sums[2 * n];
  sums->raised += (uint64_t)h_sums[2 * n + 1];
  return AMPED_OK;
}

amped_status amped_dense_cuda_absolute(amped_dense_cuda *d, const void *d_rows, uint64_t count,
                                       double *h_sums) {
  AMPED_TRY(sum_columns(d, d_rows, count, nullptr));
  memcpy(h_sums, d->h_pinned, (uint64_t)d->ncomps * sizeof *h_sums);
  return AMPED_OK;
}

amped_status amped_dense_cuda_sum_chosen(amped_dense_cuda *d, const void *d_rows, uint64_t count,
                                         const uint8_t *h_chosen, double *h_sums) {
  const uint64_t n = (uint64_t)d->ncomps;
  const uint64_t room = d->wide * sizeof *d->d_wide;
  memset(h_sums, 0, n * sizeof *h_sums);
  for (uint64_t done = 0, some = 0; done < count; done += some) {
    const void *const d_some =
        static_cast<const char *>(d_rows) + done * d->ld * (uint64_t)d->value_type;
    some = least(room, count - done);
    AMPED_CUDA(
        cudaMemcpyAsync(d->d_wide, h_chosen + done, some, cudaMemcpyHostToDevice, d->stream));
    AMPED_TRY(sum_columns(d, d_some, some, reinterpret_cast<const uint8_t *>(d->d_wide)));
    for (uint64_t c = 0; c < n; c++)
      h_sums[c] += d->h_pinned[c];
  }
  return AMPED_OK;
}

amped_status amped_dense_cuda_gram(amped_dense_cuda *d, uint64_t stride, void *d_rows,
                                   uint64_t count, double *h_gram) {
  AMPED_TRY(pass(d, stride, nullptr, count, false, true, d_rows));
  AMPED_TRY(fetch_sums(d));
  memcpy(h_gram, d->h_pinned, (uint64_t)d->ncomps * (uint64_t)d->ncomps * sizeof *h_gram);
  return AMPED_OK;
}

amped_status amped_dense_cuda_scale(amped_dense_cuda *d, void *d_rows, uint64_t count,
                                    const double *h_scale) {
  AMPED_TRY(to_device(d, d->d_square, h_scale, (uint64_t)d->ncomps));
  AMPED_TRY(d->value_type == AMPED_F32 ? scale<float>(d, d_rows, count)
                                       : scale<double>(d, d_rows, count));
  return wait(d);
}
