/* Kernels that pack plain nonzeros into a sorted copy, with row bits, row list and row table. */
#include "cuda/sorted/pack_cuda.h"

#include <cub/device/device_scan.cuh>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

namespace {

constexpr int pack_threads = 256;

/* Returns 1 if nonzero first + k begins a row. */
struct begins_row {
  const uint32_t *bits;
  uint64_t first;
  __host__ __device__ uint32_t operator()(uint32_t k) const {
    const uint64_t n = first + k;
    return bits[n / 32] >> (n % 32) & 1U;
  }
};

typedef thrust::transform_iterator<begins_row, thrust::counting_iterator<uint32_t>> flags;

flags flags_of(const amped_pack_cuda_args *a) {
  return flags(thrust::counting_iterator<uint32_t>(0), begins_row{a->bits, a->first});
}

/* Pack nonzeros, and set row bits. Threads are aligned to words of row bits, so that a warp makes
 * one word. A piece may share its first and its last word with its neighbours. */
template <typename T, typename I>
__global__ void __launch_bounds__(pack_threads) pack_nonzeros(const amped_pack_cuda_args a) {
  const uint64_t from_word = (uint64_t)blockIdx.x * pack_threads + threadIdx.x;
  const uint64_t before = a.first % 32;
  const bool valid = from_word >= before && from_word - before < a.count;
  const uint64_t k = valid ? from_word - before : 0;
  const I *const rows = static_cast<const I *>(a.batch.rows);
  bool begins = false;
  if (valid) {
    const uint64_t row = rows[k];
    const uint64_t previous = k > 0 ? (uint64_t)rows[k - 1] : a.previous_row;
    begins = row != previous;
    if (row < previous && previous != UINT64_MAX)
      atomicAdd(reinterpret_cast<unsigned long long *>(&a.result->descents), 1ULL);
    uint64_t number[AMPED_MAX_PLANES] = {};
    for (int i = 0; i < a.packing.inputs; i++)
      amped_packed_set(number, a.packing.shifts[i], a.packing.bits[i],
                       static_cast<const I *>(a.batch.inputs[i])[k]);
    const T value = static_cast<const T *>(a.batch.values)[k];
    if (a.packing.coded) {
      uint64_t code = amped_packed_code(a.dictionary, a.codes, (double)value);
      if (code == a.codes) {
        atomicAdd(reinterpret_cast<unsigned long long *>(&a.result->strangers), 1ULL);
        code = 0;
      }
      amped_packed_set(number, a.packing.value_shift, a.packing.value_bits, code);
    } else {
      static_cast<T *>(a.values)[k] = value;
    }
    amped_packed_put(&a.packing, a.planes, k, number);
  }
  const unsigned word = __ballot_sync(0xffffffffU, begins);
  if (threadIdx.x % 32 == 0 && word != 0)
    atomicOr(&a.bits[a.first / 32 + from_word / 32], word);
}

/* Fill in the row list and the row table. ordinals[k] = number of rows that begin in the piece up
 * to nonzero k. */
template <typename I>
__global__ void __launch_bounds__(pack_threads) list_rows(const amped_pack_cuda_args a) {
  const uint64_t k = (uint64_t)blockIdx.x * pack_threads + threadIdx.x;
  if (k >= a.count)
    return;
  const uint64_t n = a.first + k;
  const uint64_t entry = a.rows_before + a.ordinals[k] - 1;
  const I row = static_cast<const I *>(a.batch.rows)[k];
  if (a.bits[n / 32] >> (n % 32) & 1U && entry < a.rows_capacity)
    static_cast<I *>(a.rows)[entry] = row;
  if (n % a.packing.pack == 0)
    static_cast<I *>(a.starts)[n / a.packing.pack] = (I)entry;
  if (k == a.count - 1) {
    a.result->rows = a.ordinals[k];
    a.result->last_row = row;
  }
}

template <typename T, typename I> amped_status pack(const amped_pack_cuda_args *a) {
  const uint64_t threads = a->count + a->first % 32;
  size_t bytes = 0;
  AMPED_CUDA(cudaMemsetAsync(a->result, 0, sizeof *a->result, a->stream));
  pack_nonzeros<T, I>
      <<<(unsigned)amped_ceil_div(threads, pack_threads), pack_threads, 0, a->stream>>>(*a);
  AMPED_CUDA_LAUNCHED("the packing kernel");
  AMPED_TRY(amped_pack_cuda_scan_bytes(&bytes));
  AMPED_CUDA(cub::DeviceScan::InclusiveSum(a->scan, bytes, flags_of(a), a->ordinals, (int)a->count,
                                           a->stream));
  list_rows<I>
      <<<(unsigned)amped_ceil_div(a->count, pack_threads), pack_threads, 0, a->stream>>>(*a);
  AMPED_CUDA_LAUNCHED("the row-list kernel");
  return AMPED_OK;
}

} // namespace

amped_status amped_pack_cuda_scan_bytes(size_t *bytes) {
  amped_pack_cuda_args a = {};
  AMPED_CUDA(cub::DeviceScan::InclusiveSum(nullptr, *bytes, flags_of(&a), (uint32_t *)nullptr,
                                           (int)AMPED_PACK_NNZ));
  return AMPED_OK;
}

amped_status amped_pack_cuda(const amped_pack_cuda_args *a) {
  if (a->value_type == AMPED_F32)
    return a->index_type == AMPED_U32 ? pack<float, uint32_t>(a) : pack<float, uint64_t>(a);
  return a->index_type == AMPED_U32 ? pack<double, uint32_t>(a) : pack<double, uint64_t>(a);
}
