/* Row steps in double: instances of step_traversal_cuda.cuh. */
#include "cuda/complete/step_traversal_cuda.cuh"

amped_status amped_step_traversal_f64(const amped_step_kernel_cuda_args *args) {
  return traversal<double>(args);
}

amped_status amped_step_put_f64(const amped_step_kernel_cuda_args *args, uint64_t first,
                                uint64_t count, const double *rows) {
  return put<double>(args, first, count, rows);
}
