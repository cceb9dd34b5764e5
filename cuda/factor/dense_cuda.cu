#include "cuda/factor/dense_cuda.h"

#include <cstring>

namespace {

constexpr uint64_t wide_bytes = UINT64_C(64) << 20;
constexpr uint64_t gram_bytes = UINT64_C(16) << 20;
constexpr uint64_t blas_bytes = UINT64_C(32) << 20; /* as cuBLAS recommends from Hopper on */
constexpr int most_grams = 256;
constexpr unsigned dot_blocks = 1024;
constexpr unsigned dot_threads = 256;
constexpr uint64_t most_blocks = 1 << 20;
constexpr uint64_t most_short = 4096;

/* Thread blocks of 32 columns x 8 rows. A grid walks over all rows. */
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

/* Rows of T with padding become rows of doubles without; narrow makes padded rows again. */
template <typename T>
__global__ void widen(const T *from, uint64_t rows, uint64_t ld, unsigned ncomps, double *to) {
  for (uint64_t i = first_row(); i < rows; i += row_step())
    for (unsigned c = threadIdx.x; c < ncomps; c += blockDim.x)
      to[i * ncomps + c] = (double)from[i * ld + c];
}
template <typename T>
__global__ void narrow(const double *from, uint64_t rows, uint64_t ld, unsigned ncomps, T *to) {
  for (uint64_t i = first_row(); i < rows; i += row_step())
    for (unsigned c = threadIdx.x; c < ld; c += blockDim.x)
      to[i * ld + c] = c < ncomps ? (T)from[i * ncomps + c] : T(0);
}

/* to = from times p, and if it keeps: plus to times keep, for rows of at most short_row floats, in
 * one pass over memory. A warp works on solve_rows rows at a time, each of its threads on some
 * columns of the products. One matrix fits the shared memory; two are read through the cache. */
constexpr unsigned short_row = 64;
constexpr unsigned solve_rows = 4;
constexpr unsigned solve_warps = 8;
size_t solve_shared(unsigned n, bool keeps) {
  return ((keeps ? 0 : n * n) + solve_warps * solve_rows * n) * sizeof(double);
}
template <bool keeps>
__global__ void solve_short(const float *from, uint64_t rows, unsigned ld, unsigned n,
                            const double *p, const double *keep, float *to) {
  extern __shared__ double shared[];
  constexpr unsigned columns = short_row / 32;
  double *const staged = shared + (keeps ? 0 : n * n) + threadIdx.y * solve_rows * n;
  if (!keeps) {
    for (unsigned e = threadIdx.y * 32 + threadIdx.x; e < n * n; e += solve_warps * 32)
      shared[e] = p[e];
    __syncthreads();
  }
  const uint64_t step = (uint64_t)gridDim.x * solve_warps * solve_rows;
  uint64_t first = ((uint64_t)blockIdx.x * solve_warps + threadIdx.y) * solve_rows;
  for (; first < rows; first += step) {
    const unsigned count = rows - first < solve_rows ? (unsigned)(rows - first) : solve_rows;
    double sums[solve_rows][columns] = {};
#pragma unroll
    for (unsigned product = 0; product < (keeps ? 2 : 1); product++) {
      const float *const left = product == 0 ? from : to;
      const double *const square = product == 1 ? keep : keeps ? p : shared;
      for (unsigned i = 0; i < solve_rows; i++)
        for (unsigned c = threadIdx.x; c < n; c += 32)
          staged[i * n + c] = i < count ? (double)left[(first + i) * ld + c] : 0.0;
      __syncwarp();
      for (unsigned k = 0; k < n; k++)
#pragma unroll
        for (unsigned j = 0; j < columns; j++) {
          const unsigned c = threadIdx.x + j * 32;
          const double factor = c < n ? square[k * n + c] : 0.0;
          if (j * 32 < n)
#pragma unroll
            for (unsigned i = 0; i < solve_rows; i++)
              sums[i][j] += staged[i * n + k] * factor;
        }
      __syncwarp();
    }
#pragma unroll
    for (unsigned j = 0; j < columns; j++)
#pragma unroll
      for (unsigned i = 0; i < solve_rows; i++)
        if (i < count && threadIdx.x + j * 32 < ld)
          to[(first + i) * ld + threadIdx.x + j * 32] = (float)sums[i][j];
  }
}

/* partials[b] = the sum of a a^T over the rows a of block b, which have at most short_row floats.
 * Only the upper triangle is filled in: a thread adds up a square of 4 x 4 elements. Groups of
 * threads take rows in turn. */
constexpr unsigned gram_rows = 32;
constexpr unsigned gram_threads = 256;
__global__ void __launch_bounds__(gram_threads)
    gram_short(const float *a, uint64_t rows, unsigned ld, unsigned n, double *partials) {
  extern __shared__ double shared[];
  const unsigned side = (n + 3) / 4;
  const unsigned width = side * 4;
  const unsigned squares = side * (side + 1) / 2;
  const unsigned groups = gram_threads / squares;
  const unsigned group = threadIdx.x / squares; /* threads behind the last group have no work */
  double *const staged = shared;
  double *const all = shared + gram_rows * width;
  unsigned i = 0;
  unsigned j = threadIdx.x % squares;
  for (; j >= side - i; i++)
    j -= side - i;
  j += i;
  double sums[4][4] = {};
  for (uint64_t first = (uint64_t)blockIdx.x * gram_rows; first < rows;
       first += (uint64_t)gridDim.x * gram_rows) {
    for (unsigned e = threadIdx.x; e < gram_rows * width; e += gram_threads) {
      const uint64_t row = first + e / width;
      const unsigned c = e % width;
      staged[e] = row < rows && c < n ? (double)a[row * ld + c] : 0.0;
    }
    __syncthreads();
    for (unsigned r = group; r < gram_rows && group < groups; r += groups) {
      const double *const left = staged + r * width + i * 4;
      const double *const right = staged + r * width + j * 4;
#pragma unroll
      for (unsigned k = 0; k < 4; k++)
#pragma unroll
        for (unsigned m = 0; m < 4; m++)
          sums[k][m] += left[k] * right[m];
    }
    __syncthreads();
  }
  for (unsigned g = 0; g < groups; g++) {
    if (group == g)
      for (unsigned k = 0; k < 4; k++)
        for (unsigned m = 0; m < 4; m++) {
          double *const to = &all[(i * 4 + k) * width + j * 4 + m];
          *to = g == 0 ? sums[k][m] : *to + sums[k][m];
        }
    __syncthreads();
  }
  for (unsigned e = threadIdx.x; e < n * n; e += gram_threads)
    partials[(uint64_t)blockIdx.x * n * n + e] = e / n <= e % n ? all[e / n * width + e % n] : 0.0;
}

template <typename T>
__global__ void scale_columns(T *x, uint64_t rows, uint64_t ld, unsigned ncomps,
                              const double *scale) {
  for (uint64_t i = first_row(); i < rows; i += row_step())
    for (unsigned c = threadIdx.x; c < ncomps; c += blockDim.x)
      x[i * ld + c] = (T)((double)x[i * ld + c] * scale[c]);
}

/* The sum of x over a block of dot_threads threads, pairwise. Only thread 0 gets it. */
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

template <typename T> __global__ void dot(const T *a, const T *b, uint64_t n, double *partials) {
  double sum = 0.0;
  for (uint64_t i = (uint64_t)blockIdx.x * dot_threads + threadIdx.x; i < n;
       i += (uint64_t)dot_blocks * dot_threads)
    sum += (double)a[i] * (double)b[i];
  sum = sum_of_block(sum);
  if (threadIdx.x == 0)
    partials[blockIdx.x] = sum;
}

/* partials[dot_blocks] = the sum of partials[0 .. dot_blocks - 1]. */
__global__ void finish_dot(double *partials) {
  double sum = 0.0;
  for (unsigned i = threadIdx.x; i < dot_blocks; i += dot_threads)
    sum += partials[i];
  sum = sum_of_block(sum);
  if (threadIdx.x == 0)
    partials[dot_blocks] = sum;
}

/* gram = the sum of the partial matrices. Both triangles come from the upper one, so gram is
 * symmetric to the last bit. */
__global__ void sum_grams(const double *partials, unsigned batch, unsigned ncomps, double *gram) {
  const unsigned elements = ncomps * ncomps;
  const unsigned e = blockIdx.x * blockDim.x + threadIdx.x;
  if (e >= elements)
    return;
  const unsigned i = e / ncomps;
  const unsigned j = e % ncomps;
  const unsigned from = i < j ? i * ncomps + j : j * ncomps + i;
  double sum = 0.0;
  for (unsigned b = 0; b < batch; b++)
    sum += partials[(uint64_t)b * elements + from];
  gram[e] = sum;
}

/* The workspace: rows of a chunk, number of partial matrices, doubles of each section, bytes of all
 * (with cuBLAS's own section). */
struct sections {
  uint64_t chunk;
  uint64_t batch;
  uint64_t wide;
  uint64_t square;
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
  s.square = aligned_doubles(ncomps * ncomps);
  s.partials = aligned_doubles(most(s.batch * ncomps * ncomps, dot_blocks + 1));
  s.bytes = (2 * s.wide + 2 * s.square + s.partials) * sizeof(double) + blas_bytes;
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

/* to = from times d_square, plus `old` times to. cuBLAS stores matrices by columns, so it takes our
 * matrices for their transposes. Rows have from_ld and to_ld doubles. */
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

/* For short rows cuBLAS would pass through memory five times: this kernel passes once. */
amped_status solve_at_once(amped_dense_cuda *d, const float *d_output, uint64_t count, bool keeps,
                           float *d_rows) {
  const unsigned n = (unsigned)d->ncomps;
  const uint64_t blocks = amped_ceil_div(count, (uint64_t)(solve_warps * solve_rows));
  const auto kernel = keeps ? solve_short<true> : solve_short<false>;
  if (count == 0)
    return AMPED_OK;
  kernel<<<(unsigned)(blocks < most_short ? blocks : most_short), dim3(32, solve_warps),
           solve_shared(n, keeps), d->stream>>>(d_output, count, (unsigned)d->ld, n, d->d_square,
                                                d->d_keep, d_rows);
  AMPED_CUDA_LAUNCHED("the solve kernel");
  return AMPED_OK;
}

template <typename T>
amped_status solve(amped_dense_cuda *d, const T *d_output, uint64_t count, bool keeps, T *d_rows) {
  if constexpr (sizeof(T) == sizeof(float))
    if ((unsigned)d->ncomps <= short_row)
      return solve_at_once(d, d_output, count, keeps, d_rows);
  for (uint64_t done = 0; done < count; done += d->chunk)
    AMPED_TRY(solve_chunk(d, d_output + done * d->ld, least(d->chunk, count - done), keeps,
                          d_rows + done * d->ld));
  return AMPED_OK;
}

/* Add a^T a to the partial matrices. The product of a tall, thin matrix is one tile of output,
 * which one multiprocessor would compute. So the rows are cut into slabs with a partial matrix
 * each; the rows that are left over are added to the first. */
amped_status add_grams(amped_dense_cuda *d, const double *a, uint64_t ld, uint64_t rows) {
  const int r = d->ncomps;
  const double one = 1.0;
  const uint64_t slab = rows / (uint64_t)d->batch;
  const uint64_t done = slab * (uint64_t)d->batch;
  const long long step = (long long)(slab * ld);
  if (slab > 0)
    AMPED_CUBLAS(cublasDgemmStridedBatched(d->blas, CUBLAS_OP_N, CUBLAS_OP_T, r, r, (int)slab, &one,
                                           a, (int)ld, step, a, (int)ld, step, &one, d->d_partials,
                                           r, (long long)r * r, d->batch));
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

amped_status gram_at_once(amped_dense_cuda *d, const float *d_rows, uint64_t count) {
  const unsigned n = (unsigned)d->ncomps;
  const unsigned width = (n + 3) / 4 * 4;
  gram_short<<<(unsigned)d->batch, gram_threads, (gram_rows + width) * width * sizeof(double),
               d->stream>>>(d_rows, count, (unsigned)d->ld, n, d->d_partials);
  AMPED_CUDA_LAUNCHED("the gram kernel");
  return AMPED_OK;
}

template <typename T>
amped_status partial_grams(amped_dense_cuda *d, const T *d_rows, uint64_t count) {
  const uint64_t elements = (uint64_t)d->ncomps * (uint64_t)d->ncomps;
  if constexpr (sizeof(T) == sizeof(float))
    if ((unsigned)d->ncomps <= short_row)
      return gram_at_once(d, d_rows, count);
  AMPED_CUDA(
      cudaMemsetAsync(d->d_partials, 0, (uint64_t)d->batch * elements * sizeof(double), d->stream));
  for (uint64_t done = 0; done < count; done += d->chunk)
    AMPED_TRY(gram_chunk(d, d_rows + done * d->ld, least(d->chunk, count - done)));
  return AMPED_OK;
}

template <typename T> amped_status gram(amped_dense_cuda *d, const T *d_rows, uint64_t count) {
  const unsigned elements = (unsigned)(d->ncomps * d->ncomps);
  AMPED_TRY(partial_grams(d, d_rows, count));
  sum_grams<<<(elements + 255) / 256, 256, 0, d->stream>>>(d->d_partials, (unsigned)d->batch,
                                                           (unsigned)d->ncomps, d->d_square);
  AMPED_CUDA_LAUNCHED("the kernel that adds gram matrices");
  return AMPED_OK;
}

template <typename T>
amped_status inner(amped_dense_cuda *d, const T *d_a, const T *d_b, uint64_t count) {
  dot<<<dot_blocks, dot_threads, 0, d->stream>>>(d_a, d_b, count * d->ld, d->d_partials);
  AMPED_CUDA_LAUNCHED("the inner product kernel");
  finish_dot<<<1, dot_threads, 0, d->stream>>>(d->d_partials);
  AMPED_CUDA_LAUNCHED("the inner product kernel");
  return AMPED_OK;
}

template <typename T> amped_status scale(amped_dense_cuda *d, T *d_rows, uint64_t count) {
  if (count == 0)
    return AMPED_OK;
  scale_columns<<<row_grid(count), row_block(), 0, d->stream>>>(d_rows, count, d->ld,
                                                                (unsigned)d->ncomps, d->d_square);
  AMPED_CUDA_LAUNCHED("the kernel that scales columns");
  return AMPED_OK;
}

amped_status to_device(amped_dense_cuda *d, double *d_to, const double *h_from, uint64_t count) {
  AMPED_CUDA(
      cudaMemcpyAsync(d_to, h_from, count * sizeof(double), cudaMemcpyHostToDevice, d->stream));
  return AMPED_OK;
}

amped_status wait(amped_dense_cuda *d) {
  AMPED_CUDA(cudaStreamSynchronize(d->stream));
  return AMPED_OK;
}

amped_status to_host(amped_dense_cuda *d, double *h_to, const double *d_from, uint64_t count) {
  AMPED_CUDA(
      cudaMemcpyAsync(h_to, d_from, count * sizeof(double), cudaMemcpyDeviceToHost, d->stream));
  return wait(d);
}

} // namespace

amped_status amped_dense_cuda_create(amped_dense_cuda *d, cudaStream_t stream) {
  d->stream = stream;
  AMPED_CUBLAS(cublasCreate(&d->blas));
  AMPED_CUBLAS(cublasSetStream(d->blas, stream));
  return AMPED_OK;
}

void amped_dense_cuda_destroy(amped_dense_cuda *d) {
  if (d->blas != nullptr)
    (void)cublasDestroy(d->blas);
  amped_cuda_free(d->d_block);
  memset(d, 0, sizeof *d);
}

uint64_t amped_dense_cuda_bytes(const amped_plan *plan) {
  return sections_for(plan).bytes;
}

amped_status amped_dense_cuda_prepare(amped_dense_cuda *d, const amped_plan *plan) {
  const sections s = sections_for(plan);
  amped_cuda_free(d->d_block);
  d->d_block = nullptr;
  d->ncomps = plan->ncomps;
  d->ld = plan->ld;
  d->value_type = plan->value_type;
  d->chunk = s.chunk;
  d->batch = (int)s.batch;
  AMPED_TRY(amped_cuda_malloc(&d->d_block, s.bytes, "the dense workspace"));
  char *block = static_cast<char *>(d->d_block);
  AMPED_CUBLAS(cublasSetWorkspace(d->blas, block, blas_bytes));
  d->d_wide = reinterpret_cast<double *>(block + blas_bytes);
  d->d_product = d->d_wide + s.wide;
  d->d_square = d->d_product + s.wide;
  d->d_keep = d->d_square + s.square;
  d->d_partials = d->d_keep + s.square;
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

amped_status amped_dense_cuda_solve(amped_dense_cuda *d, const void *d_output, uint64_t count,
                                    const double *h_p, const double *h_keep, void *d_rows) {
  const uint64_t elements = (uint64_t)d->ncomps * (uint64_t)d->ncomps;
  const bool keeps = h_keep != nullptr;
  AMPED_TRY(to_device(d, d->d_square, h_p, elements));
  if (keeps)
    AMPED_TRY(to_device(d, d->d_keep, h_keep, elements));
  AMPED_TRY(d->value_type == AMPED_F32 ? solve(d, static_cast<const float *>(d_output), count,
                                               keeps, static_cast<float *>(d_rows))
                                       : solve(d, static_cast<const double *>(d_output), count,
                                               keeps, static_cast<double *>(d_rows)));
  return wait(d);
}

amped_status amped_dense_cuda_gram(amped_dense_cuda *d, const void *d_rows, uint64_t count,
                                   double *h_gram) {
  AMPED_TRY(d->value_type == AMPED_F32 ? gram(d, static_cast<const float *>(d_rows), count)
                                       : gram(d, static_cast<const double *>(d_rows), count));
  return to_host(d, h_gram, d->d_square, (uint64_t)d->ncomps * (uint64_t)d->ncomps);
}

amped_status amped_dense_cuda_inner(amped_dense_cuda *d, const void *d_a, const void *d_b,
                                    uint64_t count, double *h_inner) {
  AMPED_TRY(
      d->value_type == AMPED_F32
          ? inner(d, static_cast<const float *>(d_a), static_cast<const float *>(d_b), count)
          : inner(d, static_cast<const double *>(d_a), static_cast<const double *>(d_b), count));
  return to_host(d, h_inner, d->d_partials + dot_blocks, 1);
}

amped_status amped_dense_cuda_scale(amped_dense_cuda *d, void *d_rows, uint64_t count,
                                    const double *h_scale) {
  AMPED_TRY(to_device(d, d->d_square, h_scale, (uint64_t)d->ncomps));
  AMPED_TRY(d->value_type == AMPED_F32 ? scale(d, static_cast<float *>(d_rows), count)
                                       : scale(d, static_cast<double *>(d_rows), count));
  return wait(d);
}
