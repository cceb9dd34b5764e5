/* Arrived: nonzeros of an ordered copy as they come from a file, until they are sorted into boxes.
 * They lie in device memory where there is room for them and for sorting, else in pinned host
 * memory, which kernels read across the link. Every function waits for its work. */
#ifndef AMPED_BOX_ARRIVED_CUDA_H
#define AMPED_BOX_ARRIVED_CUDA_H

#include "cuda/sorted/copies_cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

/* All zero: nothing has come. */
typedef struct amped_box_arrived_cuda {
  uint64_t count;
  bool on_device;
  void *block;
  amped_arrays_cuda arrays;
  uint64_t last_row; /* of the last nonzero */
} amped_box_arrived_cuda;

/* Nonzeros offset .. offset+batch->count of the plan's one copy. The first call takes the memory
 * for all of them; room_bytes of device memory are left. AMPED_BAD_INPUT where rows descend. */
amped_status amped_box_arrived_cuda_add(amped_box_arrived_cuda *a, const amped_plan *plan,
                                        uint64_t offset, const amped_batch *batch,
                                        uint64_t room_bytes, cudaStream_t stream);

/* Sort them into boxes, append them to copies, and free them, also after a failure. */
amped_status amped_box_arrived_cuda_sort(amped_box_arrived_cuda *a, const amped_plan *plan,
                                         uint64_t room_bytes, amped_copies_cuda *copies,
                                         cudaStream_t stream);
void amped_box_arrived_cuda_free(amped_box_arrived_cuda *a);

#ifdef __cplusplus
}
#endif

#endif
