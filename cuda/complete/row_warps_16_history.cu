/* Row fits with one warp per row of up to 16 components, with a history. */
#include "cuda/complete/row_warps_cuda.cuh"

amped_status amped_row_warps_16_history(const amped_row_kernel_cuda_args *args) {
  return launch_history<16>(args);
}
