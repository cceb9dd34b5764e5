/* Synthetic tensors on the GPU: counts nonzeros per iDp, and generates a rank's copies. */
#include "cuda/load/synthetic_cuda.h"

#include <cstring>

#include "cuda/load/sort_boxed_cuda.cuh"

/* Most nonzeros (counters of the generator) in one launch: counts of a thread block fit in 32
 * bits. */
static const uint64_t most_counters = UINT64_C(1) << 29;

static const uint64_t shared_bins = 8192;

typedef unsigned long long word; /* uint64_t, as CUDA's atomics take it */

/* The counter is the nonzero's number; its key is one word. */
static __device__ bool sort_copy_row(const amped_synthetic_shard *shard, uint64_t k,
                                     uint64_t *row) {
  return amped_synthetic_row(shard, k, row);
}

static __device__ uint64_t sort_copy_word(const amped_synthetic_shard *shard, int, uint64_t row,
                                          uint64_t k) {
  return amped_synthetic_key(shard, row, k);
}

static __device__ uint64_t sort_copy_position(const amped_synthetic_shard *shard, int mode,
                                              uint64_t k) {
  return amped_synthetic_position(shard, mode, k);
}

static __device__ double sort_copy_value(const amped_synthetic_shard *shard, uint64_t k) {
  return amped_synthetic_value(&shard->tensor, k);
}

/* --- count --------------------------------------------------------------------------------------
 */

/* Count for few bins. Many threads would add to the same bin, so each thread block counts in its
 * shared memory first. */
static __global__ void count_few(const amped_synthetic t, int mode, uint32_t width, uint64_t first,
                                 uint64_t count, unsigned bins, word *total) {
  extern __shared__ unsigned own[];
  for (unsigned b = threadIdx.x; b < bins; b += blockDim.x)
    own[b] = 0;
  __syncthreads();
  for (uint64_t i = thread_number(); i < count; i += grid_threads())
    atomicAdd(&own[(uint32_t)amped_synthetic_index(&t, mode, first + i) / width], 1U);
  __syncthreads();
  for (unsigned b = threadIdx.x; b < bins; b += blockDim.x)
    if (own[b] > 0)
      atomicAdd(&total[b], (word)own[b]);
}

static __global__ void count_many(const amped_synthetic t, int mode, uint32_t width, uint64_t first,
                                  uint64_t count, word *total) {
  for (uint64_t i = thread_number(); i < count; i += grid_threads())
    atomicAdd(&total[(uint32_t)amped_synthetic_index(&t, mode, first + i) / width], 1ULL);
}

static __global__ void sum_squares(const amped_synthetic t, uint64_t first, uint64_t count,
                                   word *total) {
  amped_synthetic_squares sum = {0, 0};
  for (uint64_t i = thread_number(); i < count; i += grid_threads())
    amped_synthetic_square(&sum, amped_synthetic_units(&t, first + i));
  for (int lane = 16; lane > 0; lane /= 2) {
    sum.high += __shfl_down_sync(0xffffffffU, sum.high, lane);
    sum.low += __shfl_down_sync(0xffffffffU, sum.low, lane);
  }
  if (threadIdx.x % 32 == 0) {
    atomicAdd(&total[0], (word)sum.high);
    atomicAdd(&total[1], (word)sum.low);
  }
}

static amped_status count_launch(const amped_synthetic *t, int mode, uint32_t width, uint64_t first,
                                 uint64_t count, uint64_t bins, word *d_bins, cudaStream_t stream) {
  unsigned blocks = blocks_for(count);
  if (bins <= shared_bins)
    count_few<<<blocks, block_threads, bins * sizeof(unsigned), stream>>>(
        *t, mode, width, first, count, (unsigned)bins, d_bins);
  else
    count_many<<<blocks, block_threads, 0, stream>>>(*t, mode, width, first, count, d_bins);
  AMPED_CUDA_LAUNCHED("the count of a synthetic tensor");
  sum_squares<<<blocks, block_threads, 0, stream>>>(*t, first, count, d_bins + bins);
  AMPED_CUDA_LAUNCHED("the norm of a synthetic tensor");
  return AMPED_OK;
}

/* d_bins: the bins, then the two words of the sum of squares. */
static amped_status count_all(const amped_synthetic *t, int mode, uint64_t width, uint64_t first,
                              uint64_t count, uint64_t bins, uint64_t *idp_nnz,
                              amped_synthetic_squares *squares, word *d_bins, cudaStream_t stream) {
  uint64_t n = 0;
  AMPED_CUDA(cudaMemsetAsync(d_bins, 0, (bins + 2) * sizeof(word), stream));
  for (uint64_t done = 0; done < count; done += n) {
    n = count - done < most_counters ? count - done : most_counters;
    AMPED_TRY(count_launch(t, mode, (uint32_t)width, first + done, n, bins, d_bins, stream));
  }
  AMPED_CUDA(cudaMemcpyAsync(idp_nnz, d_bins, bins * sizeof(word), cudaMemcpyDeviceToHost, stream));
  AMPED_CUDA(
      cudaMemcpyAsync(squares, d_bins + bins, sizeof *squares, cudaMemcpyDeviceToHost, stream));
  AMPED_CUDA(cudaStreamSynchronize(stream));
  return AMPED_OK;
}

amped_status amped_synthetic_cuda_count(const amped_synthetic *t, int mode, uint64_t width,
                                        uint64_t first, uint64_t count, uint64_t *idp_nnz,
                                        double *sum_of_squares, cudaStream_t stream) {
  uint64_t bins = amped_ceil_div(t->dims[mode], width);
  amped_synthetic_squares squares = {0, 0};
  void *d_bins = nullptr;
  AMPED_TRY(amped_cuda_malloc(&d_bins, (bins + 2) * sizeof(word), "the iDp tables"));
  amped_status status =
      count_all(t, mode, width, first, count, bins, idp_nnz, &squares, (word *)d_bins, stream);
  amped_cuda_free(d_bins);
  if (status == AMPED_OK && sum_of_squares != nullptr)
    *sum_of_squares = amped_synthetic_sum(t, squares);
  return status;
}

/* --- load ---------------------------------------------------------------------------------------
 */

/* An amped_synthetic_counter, whose context is the stream. */
static amped_status count_on_stream(void *stream, const amped_synthetic *t, int mode,
                                    uint64_t width, uint64_t first, uint64_t count,
                                    uint64_t *idp_nnz) {
  return amped_synthetic_cuda_count(t, mode, width, first, count, idp_nnz, nullptr,
                                    (cudaStream_t)stream);
}

/* Upload the plan's tables: positions of every mode, rows of the output mode. */
static amped_status upload_tables(const amped_plan *plan, amped_synthetic_shard *shard,
                                  void **d_tables, cudaStream_t stream) {
  const amped_mode_plan *out = &plan->modes[shard->mode];
  uint64_t entries = out->rows.idp_count;
  for (int m = 0; m < plan->order; m++)
    entries += plan->modes[m].rows.idp_count;
  AMPED_TRY(amped_cuda_malloc(d_tables, entries * sizeof(uint64_t), "the plan's tables"));
  uint64_t *at = (uint64_t *)*d_tables;
  for (int m = 0; m < plan->order; m++) {
    const amped_mode_plan *mode = &plan->modes[m];
    AMPED_CUDA(cudaMemcpyAsync(at, mode->rows.position, mode->rows.idp_count * sizeof *at,
                               cudaMemcpyHostToDevice, stream));
    shard->modes[m].position = at;
    at += mode->rows.idp_count;
  }
  AMPED_CUDA(cudaMemcpyAsync(at, out->copy.row, out->rows.idp_count * sizeof *at,
                             cudaMemcpyHostToDevice, stream));
  shard->rows = at;
  AMPED_CUDA(cudaStreamSynchronize(stream));
  return AMPED_OK;
}

static amped_status find_scratch(const amped_device *device, const amped_copies_cuda *copies,
                                 uint64_t *out) {
  const amped_backend_options *o = &device->options;
  const amped_layout_cuda *layout = &copies->layout;
  const uint64_t taken = layout->device_bytes - 2 * layout->piece_bytes;
  size_t free_bytes = 0;
  size_t total = 0;
  AMPED_CUDA(cudaMemGetInfo(&free_bytes, &total));
  uint64_t scratch = free_bytes / 2;
  if (o->share_gpus && o->local_size > 1)
    scratch /= (uint64_t)o->local_size;
  if (o->device_memory > 0 && o->device_memory < taken + scratch)
    scratch = o->device_memory > taken ? o->device_memory - taken : 0;
  *out = scratch;
  return AMPED_OK;
}

static amped_status load(const amped_synthetic *t, const amped_plan *plan, int mode,
                         uint64_t scratch_bytes, amped_copies_cuda *copies, cudaStream_t stream) {
  amped_sort_copy_cuda<amped_synthetic_shard> sort = {};
  void *d_tables = nullptr;
  uint8_t key_bits = 0;
  amped_status status = AMPED_OK;
  if (plan->modes[mode].copy.rank_nnz[plan->rank] == 0)
    return AMPED_OK;
  AMPED_GO(done,
           amped_synthetic_shard_make(&sort.nonzeros, t, plan, mode, count_on_stream, stream));
  AMPED_GO(done, upload_tables(plan, &sort.nonzeros, &d_tables, stream));
  key_bits = (uint8_t)sort.nonzeros.key_bits;
  sort.plan = plan;
  sort.mode = mode;
  sort.total = t->nnz;
  sort.words = 1;
  sort.word_bits = &key_bits;
  sort.row_shift = sort.nonzeros.row_shift;
  status = amped_sort_on_gpu(&sort, scratch_bytes, copies, stream, (uint64_t *)nullptr);
done:
  amped_cuda_free(d_tables);
  return status;
}

amped_status amped_synthetic_cuda_load(const amped_synthetic *t, const amped_device *device,
                                       const amped_plan *plan, int mode,
                                       amped_copies_cuda *copies) {
  uint64_t scratch = 0;
  amped_copies_cuda_lend(copies);
  AMPED_TRY(find_scratch(device, copies, &scratch));
  AMPED_TRY(load(t, plan, mode, scratch, copies, device->stream));
  return amped_copies_cuda_take_back(copies);
}
