/* COO buffers on the GPU, for amped_format_ops. Twin of src/cpu/load/coo_buffer_cpu.h.
 *
 * A buffer lies in device memory if it fits. Otherwise it lies in pinned host memory, which kernels
 * read across the link. Plain C for the host; every function waits for its work. */
#ifndef AMPED_COO_BUFFER_CUDA_H
#define AMPED_COO_BUFFER_CUDA_H

#include "cuda/sorted/copies_cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

#include "backend/coo_buffer.h"

/* All zero: no buffer. */
typedef struct amped_coo_buffer_cuda {
  amped_coo_buffer buffer;
  uint64_t capacity;
  bool on_device;
  void *block;    /* indices and values */
  void *d_tables; /* the plan's positions and rows */
  uint64_t bytes; /* device memory in use */
} amped_coo_buffer_cuda;

/* Add nonzeros to the buffer of mode. The first call creates it. room_bytes: device memory for the
 * buffer and for sorting it. */
amped_status amped_coo_buffer_cuda_add(amped_coo_buffer_cuda *b, const amped_plan *plan, int mode,
                                       const amped_nonzeros *nonzeros, uint64_t room_bytes,
                                       cudaStream_t stream);

/* Sort the buffer, append its nonzeros to copies, and free the buffer, also after a failure.
 * *repeats: nonzeros with the same coordinate as their predecessor; NULL: not wanted. */
amped_status amped_coo_buffer_cuda_sort(amped_coo_buffer_cuda *b, const amped_plan *plan, int mode,
                                        uint64_t room_bytes, amped_copies_cuda *copies,
                                        cudaStream_t stream, uint64_t *repeats);
void amped_coo_buffer_cuda_free(amped_coo_buffer_cuda *b);

/* Find the most memory that a buffer and its sort need on plan->rank. */
void amped_coo_buffer_cuda_bytes(const amped_plan *plan, uint64_t room_bytes,
                                 uint64_t *device_bytes, uint64_t *host_bytes);

#ifdef __cplusplus
}
#endif

#endif
