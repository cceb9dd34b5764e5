/* Row fits with three warps per row of up to 96 components, without a history. */
#include "cuda/complete/row_wide_cuda.cuh"

amped_status amped_row_wide_96(const amped_row_kernel_cuda_args *args) {
  return launch_wide_for_order<3, false>(args);
}
