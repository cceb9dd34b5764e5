#include "cuda/complete/row_warps_cuda.cuh"

amped_status amped_row_warps_32(const amped_row_kernel_cuda_args *args) {
  return launch_warps_for_order<32>(args);
}
