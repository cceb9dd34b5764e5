/* Row descent: chooses the kernels of a type and rule. They are compiled in files of their own, in
 * parallel. */
#include "cuda/factor/row_descent_cuda.h"

template <typename T, bool only_cut>
amped_status amped_row_descent_run(const amped_row_descent_cuda *d, cudaStream_t stream);

amped_status amped_row_descent_cuda_run(const amped_row_descent_cuda *d, cudaStream_t stream) {
  const auto run = d->type == AMPED_F32 ? d->only_cut ? amped_row_descent_run<float, true>
                                                      : amped_row_descent_run<float, false>
                   : d->only_cut ? amped_row_descent_run<double, true>
                                        : amped_row_descent_run<double, false>;
  return run(d, stream);
}
