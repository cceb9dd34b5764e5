/* Row steps in double: instances of step_walk_cuda.cuh. */
#include "cuda/complete/step_walk_cuda.cuh"

amped_status amped_step_walk_f64(const amped_step_kernel_cuda_args *args) {
  return walk<double>(args);
}

amped_status amped_step_put_f64(const amped_step_kernel_cuda_args *args, uint64_t first,
                                uint64_t count, const double *rows) {
  return put<double>(args, first, count, rows);
}
