/* Kernels that multiply rows of factors for a contraction, and that sum partial rows over ranks. */
#include "cuda/dense/factor_rows_cuda.h"

#include "cuda/device/grid_cuda.cuh"

namespace {

template <typename T>
__global__ void __launch_bounds__(block_threads)
    make_rows(const amped_factor_rows_cuda f, uint64_t first, uint64_t end, uint64_t padded,
              T *out) {
  for (uint64_t e = thread_number(); e < padded * f.columns; e += grid_threads()) {
    uint64_t k = first + e / f.columns;
    const uint64_t r = e % f.columns;
    T product = (T)0;
    if (k < end && r < (uint64_t)f.ncomps) {
      product = (T)1;
      for (int i = f.count - 1; i >= 0; i--) {
        product *= static_cast<const T *>(f.factors[i])[k % f.dims[i] * f.ld + r];
        k /= f.dims[i];
      }
    }
    out[e] = product;
  }
}

template <typename T>
__global__ void __launch_bounds__(block_threads)
    add_blocks(const T *arriving, int count, uint64_t elements, T *out) {
  for (uint64_t e = thread_number(); e < elements; e += grid_threads()) {
    double sum = 0.0;
    for (int p = 0; p < count; p++)
      sum += (double)arriving[(uint64_t)p * elements + e];
    out[e] = (T)sum;
  }
}

} // namespace

amped_status amped_factor_rows_cuda_make(const amped_factor_rows_cuda *f, uint64_t first,
                                         uint64_t end, uint64_t padded, void *out,
                                         cudaStream_t stream) {
  const unsigned blocks = blocks_for(padded * f->columns);
  if (f->value_type == AMPED_F32)
    make_rows<<<blocks, block_threads, 0, stream>>>(*f, first, end, padded,
                                                    static_cast<float *>(out));
  else
    make_rows<<<blocks, block_threads, 0, stream>>>(*f, first, end, padded,
                                                    static_cast<double *>(out));
  AMPED_CUDA_LAUNCHED("the kernel of products of rows");
  return AMPED_OK;
}

amped_status amped_factor_rows_cuda_add(const amped_plan *plan, int mode, amped_row_sum sum,
                                        const amped_partial_rows *parts, void *output,
                                        cudaStream_t stream) {
  const uint64_t elements = plan->modes[mode].rows.block_rows * plan->ld;
  const uint64_t block = elements * plan->value_type;
  const void *from = static_cast<const char *>(parts->arriving) + (uint64_t)sum.first * block;
  void *to = sum.to == AMPED_TO_OUTPUT
                 ? output
                 : static_cast<char *>(parts->sums) + (uint64_t)sum.to * block;
  if (plan->value_type == AMPED_F32)
    add_blocks<<<blocks_for(elements), block_threads, 0, stream>>>(
        static_cast<const float *>(from), sum.count, elements, static_cast<float *>(to));
  else
    add_blocks<<<blocks_for(elements), block_threads, 0, stream>>>(
        static_cast<const double *>(from), sum.count, elements, static_cast<double *>(to));
  AMPED_CUDA_LAUNCHED("the kernel that adds up partial sums");
  return AMPED_OK;
}
