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
    add_ranks(const T *arriving, int nranks, uint64_t elements, T *out) {
  for (uint64_t e = thread_number(); e < elements; e += grid_threads()) {
    double sum = 0.0;
    for (int p = 0; p < nranks; p++)
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

amped_status amped_factor_rows_cuda_add(amped_vtype type, const void *arriving, int nranks,
                                        uint64_t elements, void *out, cudaStream_t stream) {
  if (type == AMPED_F32)
    add_ranks<<<blocks_for(elements), block_threads, 0, stream>>>(
        static_cast<const float *>(arriving), nranks, elements, static_cast<float *>(out));
  else
    add_ranks<<<blocks_for(elements), block_threads, 0, stream>>>(
        static_cast<const double *>(arriving), nranks, elements, static_cast<double *>(out));
  AMPED_CUDA_LAUNCHED("the kernel that adds up ranks");
  return AMPED_OK;
}
