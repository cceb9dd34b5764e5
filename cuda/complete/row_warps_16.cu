/* Row fits with one warp per row of up to 16 components, without a history. */
#include "cuda/complete/row_warps_cuda.cuh"

amped_status amped_row_warps_16(const amped_row_kernel_cuda_args *args) {
  switch (args->inputs) {
  case 2:
    return launch_warps_of<16, 2, index32>(args);
  case 3:
    return launch_warps_of<16, 3, index32>(args);
  case 4:
    return launch_warps_of<16, 4, index32>(args);
  default:
    return launch_warps_of<16, most_inputs, index32>(args);
  }
}
