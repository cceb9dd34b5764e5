/* Dispatch of the MTTKRP over boxes, and its last kernels: frequent rows, fixed sums, scales. */
#include "cuda/boxes/box_mttkrp_cuda.cuh"

#include "cuda/device/grid_cuda.cuh"

uint64_t amped_box_shared_bytes(const amped_plan *plan, int mode, uint64_t most, bool sorts) {
  const uint64_t buckets = buckets_of(plan, mode, sorts);
  const bool narrow = plan->index_type == AMPED_U32;
  if (plan->value_type == AMPED_F32)
    return narrow ? room_bytes<float, index32>(plan->order, most, buckets)
                  : room_bytes<float, index64>(plan->order, most, buckets);
  return narrow ? room_bytes<double, index32>(plan->order, most, buckets)
                : room_bytes<double, index64>(plan->order, most, buckets);
}

amped_status amped_box_mttkrp_cuda(const amped_box_mttkrp_args *a) {
  if (a->bundles == 0)
    return AMPED_OK;
  return a->plan->value_type == AMPED_F32 ? amped_box_mttkrp_f32(a) : amped_box_mttkrp_f64(a);
}

namespace {

/* Type in which the parts of a frequent row are added. */
template <typename T> struct sum_of_parts { typedef double type; };
template <> struct sum_of_parts<int64_t> { typedef int64_t type; };

/* Returns the sum of column c over parts first, first + by, ... below end. */
template <typename T>
__device__ inline typename sum_of_parts<T>::type
add_parts(const T *parts, uint32_t first, uint32_t end, uint32_t by, uint64_t ld, uint64_t c) {
  typename sum_of_parts<T>::type sum = 0;
#pragma unroll 4
  for (uint64_t i = first; i < end; i += by)
    sum += parts[i * ld + c];
  return sum;
}

/* Store frequent rows of few parts; a thread adds up one element. */
template <typename T>
__global__ void store_short(const T *parts, const amped_box_frequent_cuda frequent, uint64_t ld,
                            T *sums) {
  for (uint64_t e = thread_number(); e < frequent.count * ld; e += grid_threads()) {
    const uint64_t i = e / ld;
    const uint32_t first = frequent.d_firsts[i];
    const uint32_t end = frequent.d_firsts[i + 1];
    if (end - first <= AMPED_BOX_LONG)
      sums[frequent.d_rows[i] * ld + e % ld] = (T)add_parts(parts, first, end, 1, ld, e % ld);
  }
}

constexpr unsigned long_threads = 1024;

/* Store frequent rows of many parts; a warp adds up every 32nd part, 32 columns at a time. */
template <typename T>
__global__ void store_long(const T *parts, const amped_box_frequent_cuda frequent, uint64_t ld,
                           T *sums) {
  __shared__ typename sum_of_parts<T>::type of_warp[long_threads];
  const unsigned lane = threadIdx.x % 32;
  const unsigned warp = threadIdx.x / 32;
  for (uint64_t n = blockIdx.x; n < frequent.long_rows; n += gridDim.x) {
    const uint32_t i = frequent.d_longs[n];
    for (uint64_t column = 0; column < ld; column += 32) {
      const uint64_t c = column + lane;
      of_warp[threadIdx.x] = 0;
      if (c < ld)
        of_warp[threadIdx.x] = add_parts(parts, frequent.d_firsts[i] + warp,
                                         frequent.d_firsts[i + 1], long_threads / 32, ld, c);
      __syncthreads();
      typename sum_of_parts<T>::type sum = 0;
      for (unsigned w = 0; w < long_threads / 32 && warp == 0; w++)
        sum += of_warp[32 * w + lane];
      if (warp == 0 && c < ld)
        sums[frequent.d_rows[i] * ld + c] = (T)sum;
      __syncthreads();
    }
  }
}

template <typename T> amped_status store_frequent(const amped_box_mttkrp_args *a, void *sums) {
  const uint64_t ld = a->plan->ld;
  const T *parts = static_cast<const T *>(a->parts);
  if (a->frequent.count == 0)
    return AMPED_OK;
  store_short<<<blocks_for(a->frequent.count * ld), block_threads, 0, a->stream>>>(
      parts, a->frequent, ld, static_cast<T *>(sums));
  AMPED_CUDA_LAUNCHED("the kernel that stores frequent rows");
  if (a->frequent.long_rows == 0)
    return AMPED_OK;
  const uint64_t most = 2 * (uint64_t)a->multiprocessors;
  store_long<<<(unsigned)(a->frequent.long_rows < most ? a->frequent.long_rows : most),
               long_threads, 0, a->stream>>>(parts, a->frequent, ld, static_cast<T *>(sums));
  AMPED_CUDA_LAUNCHED("the kernel that stores frequent rows of many parts");
  return AMPED_OK;
}

/* output = fixed sums / scales. Element c of vector v of a row has index c * ld / 4 + v in
 * `sums`. */
__global__ void store_fixed(const int64_t *sums, uint64_t elements, uint64_t ld,
                            const double *scales, float *output) {
  for (uint64_t e = thread_number(); e < elements; e += grid_threads()) {
    const uint64_t column = e % ld;
    const int64_t sum = sums[e - column + column % 4 * (ld / 4) + column / 4];
    output[e] = (float)((double)sum / scales[column]);
  }
}

/* maxima[column] = bits of the column's largest |element|. A thread reads one column. */
__global__ void find_maxima(const float *rows, uint64_t count, unsigned ld, uint32_t *maxima) {
  const unsigned column = threadIdx.x % ld;
  const unsigned each = blockDim.x / ld;
  uint32_t most = 0;
  if (threadIdx.x < each * ld)
    for (uint64_t i = (uint64_t)blockIdx.x * each + threadIdx.x / ld; i < count;
         i += (uint64_t)gridDim.x * each) {
      const uint32_t bits = __float_as_uint(rows[i * ld + column]) & 0x7fffffffU;
      most = bits > most ? bits : most;
    }
  if (most > 0)
    atomicMax(&maxima[column], most);
}

/* scales[column] = a power of two, so that most_nnz scaled terms of the largest size add up to less
 * than 2^62. If all terms are 0, the scale is 1. A value that is not finite makes the column's sums
 * NaN. */
__global__ void make_scales(const uint32_t *maxima, int factors, unsigned ld,
                            const uint64_t *largest, double most_nnz, double *scales) {
  const unsigned column = threadIdx.x + blockIdx.x * blockDim.x;
  if (column >= ld)
    return;
  double value = __longlong_as_double((long long)*largest);
  int exponent = 0;
  int sum = 0; /* exponent: most_nnz of the largest terms add up to less than 2^sum */
  bool finite = isfinite(value);
  bool zero = value == 0.0;
  (void)frexp(value, &exponent);
  sum += exponent;
  for (int m = 0; m < factors; m++) {
    value = (double)__uint_as_float(maxima[(unsigned)m * ld + column]);
    finite = finite && isfinite(value);
    zero = zero || value == 0.0;
    (void)frexp(value, &exponent);
    sum += exponent;
  }
  (void)frexp(most_nnz, &exponent);
  sum += exponent;
  scales[column] = !finite ? nan("") : zero ? 1.0 : ldexp(1.0, 62 - sum);
}

constexpr unsigned maxima_threads = 1024;

} // namespace

amped_status amped_box_end_cuda(const amped_box_mttkrp_args *a) {
  const uint64_t ld = a->plan->ld;
  if (a->fixed == nullptr)
    return a->plan->value_type == AMPED_F32 ? store_frequent<float>(a, a->output)
                                            : store_frequent<double>(a, a->output);
  const uint64_t elements = amped_box_rows_cuda(a->plan, a->mode) * ld;
  AMPED_TRY(store_frequent<int64_t>(a, a->fixed));
  store_fixed<<<blocks_for(elements), block_threads, 0, a->stream>>>(
      a->fixed, elements, ld, a->scales, static_cast<float *>(a->output));
  AMPED_CUDA_LAUNCHED("the kernel that stores fixed sums");
  return AMPED_OK;
}

amped_status amped_box_scales_cuda(const amped_box_mttkrp_args *a, const uint64_t *largest,
                                   uint64_t most_nnz, uint32_t *maxima, double *scales) {
  const amped_plan *plan = a->plan;
  const unsigned ld = (unsigned)plan->ld;
  int factor = 0;
  AMPED_CUDA(cudaMemsetAsync(maxima, 0, AMPED_MAX_ORDER * ld * sizeof *maxima, a->stream));
  for (int m = 0; m < plan->order; m++) {
    if (m == a->mode)
      continue;
    find_maxima<<<(unsigned)(8 * a->multiprocessors), maxima_threads, 0, a->stream>>>(
        static_cast<const float *>(a->factors[m]), amped_plan_factor_rows(plan, m), ld,
        maxima + (unsigned)factor * ld);
    AMPED_CUDA_LAUNCHED("the kernel of the largest factors");
    factor++;
  }
  make_scales<<<(ld + block_threads - 1) / block_threads, block_threads, 0, a->stream>>>(
      maxima, factor, ld, largest, (double)most_nnz, scales);
  AMPED_CUDA_LAUNCHED("the kernel of scales");
  return AMPED_OK;
}
