/* Row fits with one warp per row of up to 64 components, without a history: orders 4 and 5. */
#include "cuda/complete/row_warps_cuda.cuh"

amped_status amped_row_warps_64_order45(const amped_row_kernel_cuda_args *args) {
  return args->inputs == 3 ? launch_warps_of<64, 3, index32>(args)
                           : launch_warps_of<64, 4, index32>(args);
}
