/* Row steps in float: instances of step_traversal_cuda.cuh. */
#include "cuda/complete/step_traversal_cuda.cuh"

amped_status amped_step_traversal_f32(const amped_step_kernel_cuda_args *args) {
  return traversal<float>(args);
}

amped_status amped_step_put_f32(const amped_step_kernel_cuda_args *args, uint64_t first,
                                uint64_t count, const double *rows) {
  return put<float>(args, first, count, rows);
}
