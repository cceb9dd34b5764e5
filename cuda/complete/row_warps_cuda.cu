/* Choice of the row-fit kernel of warps, by row width, order of the tensor and history. */
#include "cuda/complete/row_kernels_cuda.h"

namespace {

typedef amped_status fit_function(const amped_row_kernel_cuda_args *args);

/* Functions for rows of up to `components`, the narrowest first: by the tensor's order, and for
 * rows with a history. */
struct row_width {
  int components;
  fit_function *order3, *order4, *order5, *any, *history;
};
constexpr row_width widths[] = {
    {.components = 16,
     .order3 = amped_row_warps_16,
     .order4 = amped_row_warps_16,
     .order5 = amped_row_warps_16,
     .any = amped_row_warps_16,
     .history = amped_row_warps_16_history},
    {.components = 32,
     .order3 = amped_row_warps_32_order3,
     .order4 = amped_row_warps_32_order45,
     .order5 = amped_row_warps_32_order45,
     .any = amped_row_warps_32_any,
     .history = amped_row_warps_32_history},
    {.components = 64,
     .order3 = amped_row_warps_64_order3,
     .order4 = amped_row_warps_64_order4,
     .order5 = amped_row_warps_64_order5,
     .any = amped_row_warps_64_any,
     .history = amped_row_warps_64_history},
    {.components = 96,
     .order3 = amped_row_wide_96,
     .order4 = amped_row_wide_96,
     .order5 = amped_row_wide_96,
     .any = amped_row_wide_96,
     .history = amped_row_wide_96_history},
    {.components = AMPED_WIDE_COMPONENTS,
     .order3 = amped_row_wide_128,
     .order4 = amped_row_wide_128,
     .order5 = amped_row_wide_128,
     .any = amped_row_wide_128,
     .history = amped_row_wide_128_history},
};

} // namespace

bool amped_row_warps_cuda_can(const amped_row_kernel_cuda_args *a) {
  return a->value_type == AMPED_F32 && a->index_type == AMPED_U32 &&
         a->components <= AMPED_WIDE_COMPONENTS && a->fit->reg >= AMPED_ROW_FIT_LEAST_REG &&
         !(a->fit->overstep > 0.0) && (!a->fit->nonnegative || a->fit->absorb);
}

amped_status amped_row_warps_cuda(const amped_row_kernel_cuda_args *a) {
  const row_width *w = widths;
  if (a->strips == 0)
    return AMPED_OK;
  while (a->components > w->components)
    w++;
  if (a->fit->history != nullptr)
    return w->history(a);
  switch (a->inputs) {
  case 2:
    return w->order3(a);
  case 3:
    return w->order4(a);
  case 4:
    return w->order5(a);
  default:
    return w->any(a);
  }
}
