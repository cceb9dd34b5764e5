/* Row fits with one warp per row of up to 64 components, without a history: order 5. */
#include "cuda/complete/row_warps_cuda.cuh"

amped_status amped_row_warps_64_order5(const amped_row_kernel_cuda_args *args) {
  return launch_warps_of<64, 4, index32>(args);
}
