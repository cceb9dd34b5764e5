#include "cuda/sorted/mttkrp_cuda.h"
#include "cuda/sorted/mttkrp_sorted.cuh"

namespace {

constexpr int atomic_threads = 1024;
constexpr uint64_t atomic_rounds = 32; /* nonzeros of a column of threads, one after the other */
constexpr unsigned gap_rows = 4096;

template <typename T, typename I> struct atomic_problem {
  uint64_t count;
  uint64_t ld;
  const I *rows;
  const I *inputs[AMPED_MAX_ORDER - 1];
  const T *values;
  const T *factors[AMPED_MAX_ORDER - 1];
  T *output;
  int input_count;
};

/* AMPED Algorithm 2, kept for comparison (--kernel=published). A block has R x P threads: each of
 * the P columns takes a nonzero at a time, and each of the R rows a component. Every product is
 * added atomically. */
template <typename T, typename I>
__global__ void __launch_bounds__(atomic_threads) mttkrp_atomic(const atomic_problem<T, I> p) {
  const uint64_t share = atomic_rounds * blockDim.y;
  const uint64_t first = blockIdx.x * share;
  const uint64_t end = first + share < p.count ? first + share : p.count;
  const unsigned r = threadIdx.x;
  for (uint64_t k = first + threadIdx.y; k < end; k += blockDim.y) {
    T product = p.values[k];
#pragma unroll
    for (int m = 0; m < AMPED_MAX_ORDER - 1; m++)
      if (m < p.input_count)
        product *= __ldg(p.factors[m] + ((uint64_t)p.inputs[m][k] * p.ld + r));
    atomicAdd(p.output + ((uint64_t)p.rows[k] * p.ld + r), product);
  }
}

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

/* The first of count ascending rows that is `row` or above. All lanes of a warp search together. */
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

/* Zero the rows that are not in the list; a thread block is for gap_rows rows. */
template <typename I>
__global__ void __launch_bounds__(AMPED_BLOCK_THREADS)
    zero_gaps(const I *list, uint64_t count, uint64_t rows, unsigned stride, uint4 *output) {
  __shared__ uint32_t listed[gap_rows / 32];
  const uint64_t first = (uint64_t)blockIdx.x * gap_rows;
  const uint64_t end = first + gap_rows < rows ? first + gap_rows : rows;
  for (unsigned i = threadIdx.x; i < gap_rows / 32; i += AMPED_BLOCK_THREADS)
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

template <typename T, typename I> amped_status launch_atomic(const amped_mttkrp_cuda_args *args) {
  atomic_problem<T, I> p = {};
  p.count = args->batch.count;
  p.ld = args->ld;
  p.rows = static_cast<const I *>(args->batch.rows);
  p.values = static_cast<const T *>(args->batch.values);
  for (int m = 0; m < args->inputs; m++) {
    p.inputs[m] = static_cast<const I *>(args->batch.inputs[m]);
    p.factors[m] = static_cast<const T *>(args->factors[m]);
  }
  p.output = static_cast<T *>(args->output);
  p.input_count = args->inputs;
  const dim3 block((unsigned)args->ncomps, (unsigned)(atomic_threads / args->ncomps));
  const uint64_t blocks = amped_ceil_div(p.count, atomic_rounds * block.y);
  if (blocks > INT32_MAX)
    return amped_error(AMPED_FAILED, "CUDA",
                       "%" PRIu64 " nonzeros are too many for one launch of the published kernel; "
                       "use --residency=stream or --kernel=sorted",
                       p.count);
  mttkrp_atomic<T, I><<<(unsigned)blocks, block, 0, args->stream>>>(p);
  AMPED_CUDA_LAUNCHED("the published MTTKRP kernel");
  return AMPED_OK;
}

amped_status launch_atomic_for_types(const amped_mttkrp_cuda_args *args) {
  if (args->value_type == AMPED_F32)
    return args->index_type == AMPED_U32 ? launch_atomic<float, index32>(args)
                                         : launch_atomic<float, index64>(args);
  return args->index_type == AMPED_U32 ? launch_atomic<double, index32>(args)
                                       : launch_atomic<double, index64>(args);
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

amped_status amped_mttkrp_cuda_zero_gaps(const amped_mttkrp_cuda_args *args,
                                         const amped_packed_cuda *copy, uint64_t listed,
                                         uint64_t output_bytes) {
  const uint64_t row_bytes = args->ld * args->value_type;
  const unsigned stride = (unsigned)(row_bytes / sizeof(uint4));
  const uint64_t rows = output_bytes / row_bytes;
  const uint64_t blocks = amped_ceil_div(rows, (uint64_t)gap_rows);
  uint4 *const output = static_cast<uint4 *>(args->output);
  if (blocks > INT32_MAX)
    return amped_error(AMPED_FAILED, "CUDA",
                       "%" PRIu64 " rows are too many for one launch; use more GPUs", rows);
  if (copy->index_type == AMPED_U32)
    zero_gaps<<<(unsigned)blocks, AMPED_BLOCK_THREADS, 0, args->stream>>>(
        static_cast<const index32 *>(copy->rows), listed, rows, stride, output);
  else
    zero_gaps<<<(unsigned)blocks, AMPED_BLOCK_THREADS, 0, args->stream>>>(
        static_cast<const index64 *>(copy->rows), listed, rows, stride, output);
  AMPED_CUDA_LAUNCHED("the kernel that zeroes rows without nonzeros");
  return AMPED_OK;
}

amped_status amped_mttkrp_cuda(const amped_mttkrp_cuda_args *args, amped_kernel kernel) {
  if (kernel == AMPED_KERNEL_ATOMIC)
    return args->batch.count > 0 ? launch_atomic_for_types(args) : AMPED_OK;
  if (args->blocks == 0)
    return AMPED_OK;
  return args->value_type == AMPED_F32 ? amped_mttkrp_sorted_f32(args)
                                       : amped_mttkrp_sorted_f64(args);
}

amped_status amped_mttkrp_cuda_probe(void) {
  cudaFuncAttributes attributes;
  AMPED_CUDA(cudaFuncGetAttributes(&attributes, mttkrp_atomic<float, index32>));
  return AMPED_OK;
}
