/* Row fits with one warp per row of up to 64 components, without a history: other orders than 3, 4
 * and 5. */
#include "cuda/complete/row_warps_cuda.cuh"

amped_status amped_row_warps_64_any(const amped_row_kernel_cuda_args *args) {
  return launch_warps_of<64, most_inputs, index32>(args);
}
