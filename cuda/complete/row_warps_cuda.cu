#include "cuda/complete/row_kernels_cuda.h"

bool amped_row_warps_cuda_can(const amped_row_kernel_cuda_args *a) {
  return a->value_type == AMPED_F32 && a->components <= AMPED_WIDE_COMPONENTS &&
         a->fit->reg > 0.0 && (!a->fit->nonnegative || a->fit->absorb);
}

amped_status amped_row_warps_cuda(const amped_row_kernel_cuda_args *a) {
  if (a->strips == 0)
    return AMPED_OK;
  if (a->components <= 16)
    return amped_row_warps_16(a);
  if (a->components <= 32)
    return amped_row_warps_32(a);
  if (a->components <= 64)
    return amped_row_warps_64(a);
  return a->components <= 96 ? amped_row_wide_96(a) : amped_row_wide_128(a);
}
