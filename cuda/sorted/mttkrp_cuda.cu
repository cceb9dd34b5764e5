/* Dispatch of the sorted MTTKRP, and its small kernels: sum of outputs, zero rows. */
#include "cuda/sorted/mttkrp_cuda.h"
#include "cuda/sorted/mttkrp_sorted.cuh"

namespace {

constexpr unsigned block_span = 4096;

/* sum = the sum of all outputs, in double. */
template <typename T>
__global__ void __launch_bounds__(AMPED_BLOCK_THREADS)
    sum_outputs(const T *outputs, unsigned count, uint64_t elements, T *sum) {
  const uint64_t i = (uint64_t)blockIdx.x * AMPED_BLOCK_THREADS + threadIdx.x;
  if (i >= elements)
    return;
  double all = 0.0;
  for (unsigned k = 0; k < count; k++)
    all += (double)outputs[k * elements + i];
  sum[i] = (T)all;
}

/* Returns the index of the first of `count` ascending rows that is >= `row`; count if there is
 * none. All lanes of a warp search together. */
template <typename I>
__device__ inline uint64_t first_from(const I *rows, uint64_t count, uint64_t row) {
  const unsigned lane = threadIdx.x % 32;
  uint64_t from = 0;
  uint64_t to = count;
  while (from < to) {
    const uint64_t step = (to - from + 31) / 32;
    const uint64_t probe = from + lane * step;
    const unsigned below = __popc(__ballot_sync(whole_warp, probe < to && rows[probe] < row));
    const uint64_t end = from + below * step;
    to = end < to ? end : to;
    from = below > 0 ? end - step + 1 : to;
  }
  return from;
}

/* Zero the rows that are not in the list. A thread block covers block_span rows. */
template <typename I>
__global__ void __launch_bounds__(AMPED_BLOCK_THREADS)
    zero_empty_rows(const I *list, uint64_t count, uint64_t rows, unsigned stride, uint4 *output) {
  __shared__ uint32_t listed[block_span / 32];
  const uint64_t first = (uint64_t)blockIdx.x * block_span;
  const uint64_t end = first + block_span < rows ? first + block_span : rows;
  for (unsigned i = threadIdx.x; i < block_span / 32; i += AMPED_BLOCK_THREADS)
    listed[i] = 0;
  const uint64_t begin = first_from(list, count, first);
  __syncthreads();
  for (uint64_t i = begin + threadIdx.x; i < count && list[i] < end; i += AMPED_BLOCK_THREADS) {
    const unsigned row = (unsigned)(list[i] - first);
    atomicOr(&listed[row / 32], 1U << row % 32);
  }
  __syncthreads();
  for (unsigned v = threadIdx.x; v < (unsigned)(end - first) * stride; v += AMPED_BLOCK_THREADS) {
    const unsigned row = v / stride;
    if (!(listed[row / 32] >> row % 32 & 1U))
      output[first * stride + v] = make_uint4(0, 0, 0, 0);
  }
}

} // namespace

amped_status amped_mttkrp_cuda_sum(const amped_mttkrp_cuda_args *args) {
  const amped_work_cuda *work = args->work;
  const uint64_t elements = work->output_bytes / args->value_type;
  const unsigned blocks = (unsigned)amped_ceil_div(elements, AMPED_BLOCK_THREADS);
  const unsigned outputs = (unsigned)work->cut.outputs;
  if (args->value_type == AMPED_F32)
    sum_outputs<<<blocks, AMPED_BLOCK_THREADS, 0, args->stream>>>(
        static_cast<const float *>(work->d_outputs), outputs, elements,
        static_cast<float *>(args->output));
  else
    sum_outputs<<<blocks, AMPED_BLOCK_THREADS, 0, args->stream>>>(
        static_cast<const double *>(work->d_outputs), outputs, elements,
        static_cast<double *>(args->output));
  AMPED_CUDA_LAUNCHED("the sum of the outputs of tiles");
  return AMPED_OK;
}

amped_status amped_mttkrp_cuda_zero_empty_rows(const amped_mttkrp_cuda_args *args,
                                               const amped_packed_cuda *copy, uint64_t listed,
                                               uint64_t output_bytes) {
  const uint64_t row_bytes = args->ld * args->value_type;
  const unsigned stride = (unsigned)(row_bytes / sizeof(uint4));
  const uint64_t rows = output_bytes / row_bytes;
  const uint64_t blocks = amped_ceil_div(rows, (uint64_t)block_span);
  uint4 *const output = static_cast<uint4 *>(args->output);
  if (blocks > INT32_MAX)
    return amped_error(AMPED_FAILED, "CUDA",
                       "%" PRIu64 " rows are too many for one launch; use more GPUs", rows);
  if (copy->index_type == AMPED_U32)
    zero_empty_rows<<<(unsigned)blocks, AMPED_BLOCK_THREADS, 0, args->stream>>>(
        static_cast<const index32 *>(copy->rows), listed, rows, stride, output);
  else
    zero_empty_rows<<<(unsigned)blocks, AMPED_BLOCK_THREADS, 0, args->stream>>>(
        static_cast<const index64 *>(copy->rows), listed, rows, stride, output);
  AMPED_CUDA_LAUNCHED("the kernel that zeroes rows without nonzeros");
  return AMPED_OK;
}

amped_status amped_mttkrp_cuda(const amped_mttkrp_cuda_args *args) {
  if (args->blocks == 0)
    return AMPED_OK;
  if (args->ratio != nullptr)
    return args->value_type == AMPED_F32 ? amped_ratio_sorted_f32(args)
                                         : amped_ratio_sorted_f64(args);
  return args->value_type == AMPED_F32 ? amped_mttkrp_sorted_f32(args)
                                       : amped_mttkrp_sorted_f64(args);
}

amped_status amped_mttkrp_cuda_probe(void) {
  cudaFuncAttributes attributes;
  AMPED_CUDA(cudaFuncGetAttributes(&attributes, sum_outputs<float>));
  return AMPED_OK;
}
