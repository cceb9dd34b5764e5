/* Row fits with four warps per row of up to 128 components, without a history. */
#include "cuda/complete/row_wide_cuda.cuh"

amped_status amped_row_wide_128(const amped_row_kernel_cuda_args *args) {
  return launch_wide_for_order<4, false>(args);
}
