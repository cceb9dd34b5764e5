/* Incoming nonzeros of an ordered copy: they are collected from a file until they are sorted into
 * boxes. They lie in device memory if they and their sort fit there. Otherwise they lie in pinned
 * host memory, which kernels read across the link. Every function waits for its work. */
#ifndef AMPED_BOX_INCOMING_CUDA_H
#define AMPED_BOX_INCOMING_CUDA_H

#include "cuda/sorted/copies_cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

/* All zero: no nonzeros yet. */
typedef struct amped_box_incoming_cuda {
  uint64_t count;
  bool on_device;
  void *block;
  amped_arrays_cuda arrays;
  uint64_t last_row; /* row of the last nonzero */
} amped_box_incoming_cuda;

/* Append the batch as nonzeros offset .. offset + batch->count of the plan's one copy. The first
 * call allocates memory for all nonzeros of the copy; room_bytes: free device memory. Returns
 * AMPED_BAD_INPUT if rows descend. */
amped_status amped_box_incoming_cuda_add(amped_box_incoming_cuda *a, const amped_plan *plan,
                                         uint64_t offset, const amped_batch *batch,
                                         uint64_t room_bytes, cudaStream_t stream);

/* Sort the nonzeros into boxes, append these to copies, and free the nonzeros, also after a
 * failure. */
amped_status amped_box_incoming_cuda_sort(amped_box_incoming_cuda *a, const amped_plan *plan,
                                          uint64_t room_bytes, amped_copies_cuda *copies,
                                          cudaStream_t stream);
void amped_box_incoming_cuda_free(amped_box_incoming_cuda *a);

#ifdef __cplusplus
}
#endif

#endif
