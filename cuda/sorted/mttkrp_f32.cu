/* The sorted MTTKRP for float values: instantiates mttkrp_sorted.cuh. */
#include "cuda/sorted/mttkrp_sorted.cuh"

amped_status amped_mttkrp_sorted_f32(const amped_mttkrp_cuda_args *args) {
  return launch_for_index<float, false>(args);
}
