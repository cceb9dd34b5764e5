/* Row fits with one warp per row of up to 32 components, without a history: orders 4 and 5. */
#include "cuda/complete/row_warps_cuda.cuh"

amped_status amped_row_warps_32_order45(const amped_row_kernel_cuda_args *args) {
  return args->inputs == 3 ? launch_warps_of<32, 3, index32>(args)
                           : launch_warps_of<32, 4, index32>(args);
}
