/* MTTKRP over boxes for double values: instantiates box_mttkrp_cuda.cuh. */
#include "cuda/boxes/box_mttkrp_cuda.cuh"

amped_status amped_box_mttkrp_f64(const amped_box_mttkrp_args *a) {
  return a->plan->index_type == AMPED_U32 ? launch_for_order<double, index32, false>(a)
                                          : launch_for_order<double, index64, false>(a);
}
