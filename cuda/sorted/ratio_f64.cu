/* Ratios in the sorted kernel for double values: instantiates mttkrp_sorted.cuh. */
#include "cuda/sorted/mttkrp_sorted.cuh"

amped_status amped_ratio_sorted_f64(const amped_mttkrp_cuda_args *args) {
  return launch_for_index<double, true>(args);
}
