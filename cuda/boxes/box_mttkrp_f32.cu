/* MTTKRP over boxes for float values: instantiates box_mttkrp_cuda.cuh. */
#include "cuda/boxes/box_mttkrp_cuda.cuh"

amped_status amped_box_mttkrp_f32(const amped_box_mttkrp_args *a) {
  const bool narrow = a->plan->index_type == AMPED_U32;
  if (a->fixed != nullptr)
    return narrow ? launch_for_order<float, index32, true>(a)
                  : launch_for_order<float, index64, true>(a);
  return narrow ? launch_for_order<float, index32, false>(a)
                : launch_for_order<float, index64, false>(a);
}
