/* Row fits with one warp per row of up to 32 components, without a history: order 3. */
#include "cuda/complete/row_warps_cuda.cuh"

amped_status amped_row_warps_32_order3(const amped_row_kernel_cuda_args *args) {
  return launch_warps_of<32, 2, index32>(args);
}
