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

/* Sums of hot rows to the output. */
__global__ void store_hot(const double *sums, const uint64_t *rows, uint64_t count, uint64_t ld,
                          float *output) {
  for (uint64_t e = thread_number(); e < count * ld; e += grid_threads())
    output[rows[e / ld] * ld + e % ld] = (float)sums[e];
}

__global__ void store_fixed(const int64_t *sums, uint64_t elements, uint64_t ld,
                            const double *scales, float *output) {
  for (uint64_t e = thread_number(); e < elements; e += grid_threads())
    output[e] = (float)((double)sums[e] / scales[e % ld]);
}

/* maxima[column] = the bits of the largest |element|. A thread goes down one column. */
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

/* The largest power of two by which most_nnz terms of the largest size stay below 2^62. What is not
 * finite makes the column's sums NaN. */
__global__ void make_scales(const uint32_t *maxima, int factors, unsigned ld,
                            const uint64_t *largest, double most_nnz, double *scales) {
  const unsigned column = threadIdx.x + blockIdx.x * blockDim.x;
  if (column >= ld)
    return;
  double value = __longlong_as_double((long long)*largest);
  int exponent = 0;
  int sum = 0; /* the terms' sum is below 2^sum */
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
  if (a->fixed != nullptr) {
    const uint64_t elements = amped_box_rows_cuda(a->plan, a->mode) * ld;
    store_fixed<<<blocks_for(elements), block_threads, 0, a->stream>>>(
        a->fixed, elements, ld, a->scales, static_cast<float *>(a->output));
    AMPED_CUDA_LAUNCHED("the kernel that stores fixed sums");
  } else if (a->hot.count > 0) {
    store_hot<<<blocks_for(a->hot.count * ld), block_threads, 0, a->stream>>>(
        a->hot_sums, a->hot.d_rows, a->hot.count, ld, static_cast<float *>(a->output));
    AMPED_CUDA_LAUNCHED("the kernel that stores hot rows");
  }
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
