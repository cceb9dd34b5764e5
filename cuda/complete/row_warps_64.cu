#include "cuda/complete/row_warps_cuda.cuh"

amped_status amped_row_warps_64(const amped_row_kernel_cuda_args *args) {
  return launch_warps_for_order<64>(args);
}
