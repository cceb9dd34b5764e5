/* Row fits with one warp per row of up to 64 components, without a history: order 4. */
#include "cuda/complete/row_warps_cuda.cuh"

amped_status amped_row_warps_64_order4(const amped_row_kernel_cuda_args *args) {
  return launch_warps_of<64, 3, index32>(args);
}
