/* Kernels for rows of blocks of a dense tensor. */
#include "cuda/dense/block_rows_cuda.h"

#include "cuda/device/grid_cuda.cuh"

namespace {

constexpr unsigned most_in_y = 65535;
/* Thread blocks for all rows, if blocks are fewer than row_parts. Parts of a gram: at most
 * gram_parts, of at least gram_rows rows, with at most gram_elements doubles in all grams. */
constexpr uint64_t row_parts = 1024;
constexpr uint64_t gram_parts = 64;
constexpr uint64_t gram_rows = 64;
constexpr uint64_t gram_elements = UINT64_C(1) << 22;

template <typename T>
__global__ void __launch_bounds__(block_threads)
    take_rows(uint64_t rows, uint64_t ld, const T *factor, const uint64_t *positions, T *out) {
  for (uint64_t e = thread_number(); e < rows * ld; e += grid_threads())
    out[e] = factor[positions[e / ld] * ld + e % ld];
}

template <typename T>
__global__ void __launch_bounds__(block_threads)
    put_rows(uint64_t rows, uint64_t n, uint64_t ld, const double *from, const uint64_t *positions,
             T *factor) {
  for (uint64_t e = thread_number(); e < rows * n; e += grid_threads())
    factor[positions[e / n] * ld + e % n] = (T)from[e];
}

template <typename T>
__global__ void __launch_bounds__(block_threads)
    widen_rows(uint64_t rows, uint64_t n, uint64_t ld, const T *from, double *out) {
  for (uint64_t e = thread_number(); e < rows * n; e += grid_threads())
    out[e] = (double)from[e / n * ld + e % n];
}

template <typename T>
__global__ void __launch_bounds__(block_threads)
    narrow_rows(uint64_t rows, uint64_t n, uint64_t ld, const double *from, T *out) {
  for (uint64_t e = thread_number(); e < rows * n; e += grid_threads())
    out[e / n * ld + e % n] = (T)from[e];
}

/* A thread sums one element of a block's gram, over one part of the block's rows. */
template <typename T>
__global__ void __launch_bounds__(block_threads)
    add_grams(const amped_block_rows_cuda b, uint64_t parts, double *out) {
  const uint64_t n = (uint64_t)b.ncomps;
  const uint64_t part = blockIdx.z;
  for (uint64_t block = blockIdx.y; block < b.count; block += gridDim.y) {
    const uint64_t first = b.d_first[block];
    const uint64_t rows = b.d_first[block + 1] - first;
    const uint64_t each = (rows + parts - 1) / parts;
    const uint64_t end = (part + 1) * each < rows ? (part + 1) * each : rows;
    for (uint64_t e = thread_number(); e < n * n; e += grid_threads()) {
      const T *row = static_cast<const T *>(b.d_rows) + (first + part * each) * b.ld;
      double sum = 0.0;
      for (uint64_t i = part * each; i < end; i++, row += b.ld)
        sum += (double)row[e / n] * (double)row[e % n];
      out[(part * b.count + block) * n * n + e] = sum;
    }
  }
}

__global__ void __launch_bounds__(block_threads)
    add_gram_parts(const double *partials, uint64_t elements, uint64_t parts, double *out) {
  for (uint64_t e = thread_number(); e < elements; e += grid_threads()) {
    double sum = 0.0;
    for (uint64_t i = 0; i < parts; i++)
      sum += partials[i * elements + e];
    out[e] = sum;
  }
}

/* Reduce the two sums of a thread block, and store them at `out`. */
__device__ inline void put_sums(double moved, double size, double *out) {
  __shared__ double shared[2][block_threads];
  shared[0][threadIdx.x] = moved;
  shared[1][threadIdx.x] = size;
  for (unsigned half = block_threads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half)
      for (int i = 0; i < 2; i++)
        shared[i][threadIdx.x] += shared[i][threadIdx.x + half];
  }
  __syncthreads();
  if (threadIdx.x < 2)
    out[threadIdx.x] = shared[threadIdx.x][0];
  __syncthreads();
}

/* `lanes` threads work on a row, and a thread block on block_threads / lanes rows at a time. */
template <typename T>
__global__ void __launch_bounds__(block_threads)
    solve_rows(const amped_block_rows_cuda b, unsigned lanes, const T *sums, const double *p,
               const double *keep, double *moved) {
  __shared__ double shared_sums[AMPED_MAX_NCOMPS];
  __shared__ double shared_rows[AMPED_MAX_NCOMPS];
  const uint64_t n = (uint64_t)b.ncomps;
  const uint64_t at_once = block_threads / lanes;
  const uint64_t lane = threadIdx.x % lanes;
  const uint64_t mine = threadIdx.x / lanes;
  const double *own_sums = shared_sums + mine * n;
  const double *own_row = shared_rows + mine * n;
  for (uint64_t block = blockIdx.y; block < b.count; block += gridDim.y) {
    const uint64_t end = b.d_first[block + 1];
    const double *block_p = p + block * n * n;
    const double *block_keep = keep + block * n * n;
    double far = 0.0;
    double size = 0.0;
    for (uint64_t row = b.d_first[block] + blockIdx.x * at_once; row < end;
         row += gridDim.x * at_once) {
      const uint64_t count = end - row < at_once ? end - row : at_once;
      __syncthreads(); /* all threads are done with the rows before */
      for (uint64_t e = threadIdx.x; e < count * n; e += block_threads) {
        const uint64_t at = (row + e / n) * b.ld + e % n;
        shared_sums[e] = (double)sums[at];
        shared_rows[e] = (double)static_cast<const T *>(b.d_rows)[at];
      }
      __syncthreads();
      for (uint64_t c = lane; c < n && mine < count; c += lanes) {
        double sum = 0.0;
        for (uint64_t k = 0; k < n; k++)
          sum += own_sums[k] * block_p[k * n + c] + own_row[k] * block_keep[k * n + c];
        static_cast<T *>(b.d_rows)[(row + mine) * b.ld + c] = (T)sum;
        far += (sum - own_row[c]) * (sum - own_row[c]);
        size += own_row[c] * own_row[c];
      }
    }
    put_sums(far, size, moved + 2 * (block * gridDim.x + blockIdx.x));
  }
}

template <typename T>
__global__ void __launch_bounds__(block_threads)
    pull_rows(const amped_block_rows_cuda b, const double *weight, T *sums) {
  const uint64_t n = (uint64_t)b.ncomps;
  for (uint64_t block = blockIdx.y; block < b.count; block += gridDim.y) {
    const uint64_t first = b.d_first[block];
    const uint64_t rows = b.d_first[block + 1] - first;
    for (uint64_t e = thread_number(); e < rows * n; e += grid_threads()) {
      const uint64_t at = (first + e / n) * b.ld + e % n;
      sums[at] =
          (T)((double)sums[at] + weight[block] * (double)static_cast<const T *>(b.d_rows)[at]);
    }
  }
}

template <typename T>
__global__ void __launch_bounds__(block_threads)
    add_moved(const amped_block_rows_cuda b, const T *before, double *moved) {
  const uint64_t elements = b.d_first[b.count] * b.ld;
  double far = 0.0;
  double size = 0.0;
  for (uint64_t e = thread_number(); e < elements; e += grid_threads()) {
    const double old = (double)before[e];
    const double step = (double)static_cast<const T *>(b.d_rows)[e] - old;
    far += step * step;
    size += old * old;
  }
  put_sums(far, size, moved + 2 * (uint64_t)blockIdx.x);
}

unsigned in_y(uint64_t count) {
  return (unsigned)(count < most_in_y ? count : most_in_y);
}

unsigned lanes_of(int ncomps) {
  unsigned lanes = 1;
  while (lanes < (unsigned)ncomps && lanes < (unsigned)block_threads)
    lanes *= 2;
  return lanes;
}

/* Returns the number of thread blocks for each block. */
unsigned parts_each(const amped_block_rows_cuda *b) {
  const uint64_t most = b->count < row_parts ? row_parts / b->count : 1;
  const uint64_t turns = amped_ceil_div(b->most, (uint64_t)block_threads / lanes_of(b->ncomps));
  return (unsigned)(turns < 1 ? 1 : turns < most ? turns : most);
}

/* Returns the number of parts of each block's gram. */
uint64_t grams_parts(const amped_block_rows_cuda *b) {
  const uint64_t fit = gram_elements / (b->count * (uint64_t)b->ncomps * (uint64_t)b->ncomps);
  const uint64_t rows = amped_ceil_div(b->most, gram_rows);
  const uint64_t most = rows < gram_parts ? rows : gram_parts;
  return fit < 1 || most < 1 ? 1 : fit < most ? fit : most;
}

template <typename T>
amped_status solve(const amped_block_rows_cuda *b, const void *d_sums, const double *d_p,
                   const double *d_keep, double *d_moved) {
  const dim3 grid(parts_each(b), in_y(b->count), 1);
  solve_rows<T><<<grid, block_threads, 0, b->stream>>>(
      *b, lanes_of(b->ncomps), static_cast<const T *>(d_sums), d_p, d_keep, d_moved);
  AMPED_CUDA_LAUNCHED("the kernel of new rows of blocks");
  return AMPED_OK;
}

template <typename T>
amped_status grams(const amped_block_rows_cuda *b, double *d_grams, double *d_partials) {
  const uint64_t n = (uint64_t)b->ncomps;
  const uint64_t parts = grams_parts(b);
  const dim3 grid(blocks_for(n * n), in_y(b->count), (unsigned)parts);
  add_grams<T><<<grid, block_threads, 0, b->stream>>>(*b, parts, parts > 1 ? d_partials : d_grams);
  AMPED_CUDA_LAUNCHED("the kernel of grams of blocks");
  if (parts == 1)
    return AMPED_OK;
  add_gram_parts<<<blocks_for(b->count * n * n), block_threads, 0, b->stream>>>(
      d_partials, b->count * n * n, parts, d_grams);
  AMPED_CUDA_LAUNCHED("the kernel that adds parts of grams up");
  return AMPED_OK;
}

} // namespace

amped_status amped_block_rows_cuda_take(const amped_block_rows_cuda *b, uint64_t rows,
                                        const void *d_factor, const uint64_t *d_positions) {
  const unsigned blocks = blocks_for(rows * b->ld);
  if (rows == 0)
    return AMPED_OK;
  if (b->value_type == AMPED_F32)
    take_rows<<<blocks, block_threads, 0, b->stream>>>(
        rows, b->ld, static_cast<const float *>(d_factor), d_positions,
        static_cast<float *>(b->d_rows));
  else
    take_rows<<<blocks, block_threads, 0, b->stream>>>(
        rows, b->ld, static_cast<const double *>(d_factor), d_positions,
        static_cast<double *>(b->d_rows));
  AMPED_CUDA_LAUNCHED("the kernel that takes rows");
  return AMPED_OK;
}

amped_status amped_block_rows_cuda_put(const amped_block_rows_cuda *b, uint64_t rows,
                                       const double *d_from, const uint64_t *d_positions,
                                       void *d_factor) {
  const uint64_t n = (uint64_t)b->ncomps;
  const unsigned blocks = blocks_for(rows * n);
  if (rows == 0)
    return AMPED_OK;
  if (b->value_type == AMPED_F32)
    put_rows<<<blocks, block_threads, 0, b->stream>>>(rows, n, b->ld, d_from, d_positions,
                                                      static_cast<float *>(d_factor));
  else
    put_rows<<<blocks, block_threads, 0, b->stream>>>(rows, n, b->ld, d_from, d_positions,
                                                      static_cast<double *>(d_factor));
  AMPED_CUDA_LAUNCHED("the kernel that puts rows");
  return AMPED_OK;
}

amped_status amped_block_rows_cuda_widen(const amped_block_rows_cuda *b, uint64_t rows,
                                         const void *d_rows, double *d_out) {
  const uint64_t n = (uint64_t)b->ncomps;
  const unsigned blocks = blocks_for(rows * n);
  if (rows == 0)
    return AMPED_OK;
  if (b->value_type == AMPED_F32)
    widen_rows<<<blocks, block_threads, 0, b->stream>>>(rows, n, b->ld,
                                                        static_cast<const float *>(d_rows), d_out);
  else
    widen_rows<<<blocks, block_threads, 0, b->stream>>>(rows, n, b->ld,
                                                        static_cast<const double *>(d_rows), d_out);
  AMPED_CUDA_LAUNCHED("the kernel that widens rows");
  return AMPED_OK;
}

amped_status amped_block_rows_cuda_narrow(const amped_block_rows_cuda *b, uint64_t rows,
                                          const double *d_from, void *d_rows) {
  const uint64_t n = (uint64_t)b->ncomps;
  const unsigned blocks = blocks_for(rows * n);
  if (rows == 0)
    return AMPED_OK;
  if (b->value_type == AMPED_F32)
    narrow_rows<<<blocks, block_threads, 0, b->stream>>>(rows, n, b->ld, d_from,
                                                         static_cast<float *>(d_rows));
  else
    narrow_rows<<<blocks, block_threads, 0, b->stream>>>(rows, n, b->ld, d_from,
                                                         static_cast<double *>(d_rows));
  AMPED_CUDA_LAUNCHED("the kernel that narrows rows");
  return AMPED_OK;
}

uint64_t amped_block_grams_cuda_room(uint64_t count, uint64_t most, int ncomps) {
  const uint64_t matrix = (uint64_t)ncomps * (uint64_t)ncomps;
  const uint64_t rows = amped_ceil_div(most, gram_rows);
  const uint64_t parts = count * (rows < gram_parts ? rows : gram_parts);
  const uint64_t fit = gram_elements / matrix > count ? gram_elements / matrix : count;
  return (parts < fit ? parts : fit) * matrix;
}

amped_status amped_block_grams_cuda(const amped_block_rows_cuda *b, double *d_grams,
                                    double *d_partials) {
  if (b->count == 0)
    return AMPED_OK;
  return b->value_type == AMPED_F32 ? grams<float>(b, d_grams, d_partials)
                                    : grams<double>(b, d_grams, d_partials);
}

uint64_t amped_block_rows_cuda_parts(const amped_block_rows_cuda *b) {
  return b->count > 0 ? b->count * parts_each(b) : 0;
}

uint64_t amped_block_rows_cuda_most_parts(uint64_t count) {
  return count > row_parts ? count : row_parts;
}

amped_status amped_block_rows_cuda_solve(const amped_block_rows_cuda *b, const void *d_sums,
                                         const double *d_p, const double *d_keep, double *d_moved) {
  if (b->count == 0)
    return AMPED_OK;
  return b->value_type == AMPED_F32 ? solve<float>(b, d_sums, d_p, d_keep, d_moved)
                                    : solve<double>(b, d_sums, d_p, d_keep, d_moved);
}

amped_status amped_block_rows_cuda_pull(const amped_block_rows_cuda *b, const double *d_weight,
                                        void *d_sums) {
  const dim3 grid(blocks_for(b->most * (uint64_t)b->ncomps), in_y(b->count), 1);
  if (b->count == 0)
    return AMPED_OK;
  if (b->value_type == AMPED_F32)
    pull_rows<<<grid, block_threads, 0, b->stream>>>(*b, d_weight, static_cast<float *>(d_sums));
  else
    pull_rows<<<grid, block_threads, 0, b->stream>>>(*b, d_weight, static_cast<double *>(d_sums));
  AMPED_CUDA_LAUNCHED("the kernel of a proximal term");
  return AMPED_OK;
}

amped_status amped_block_rows_cuda_moved(const amped_block_rows_cuda *b, const void *d_before,
                                         double *d_moved) {
  const unsigned blocks = (unsigned)amped_block_rows_cuda_parts(b);
  if (b->count == 0)
    return AMPED_OK;
  if (b->value_type == AMPED_F32)
    add_moved<<<blocks, block_threads, 0, b->stream>>>(*b, static_cast<const float *>(d_before),
                                                       d_moved);
  else
    add_moved<<<blocks, block_threads, 0, b->stream>>>(*b, static_cast<const double *>(d_before),
                                                       d_moved);
  AMPED_CUDA_LAUNCHED("the kernel of how far rows moved");
  return AMPED_OK;
}
