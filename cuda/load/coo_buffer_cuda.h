/* COO buffers on the GPU: struct amped_backend's collect and order. Twin of
 * src/cpu/coo_buffer_cpu.h.
 *
 * A buffer lies in device memory where there is room for it, else in pinned host memory, which
 * kernels read across the link. Plain C for the host; everything is waited for. */
#ifndef AMPED_COO_BUFFER_CUDA_H
#define AMPED_COO_BUFFER_CUDA_H

#include "cuda/sorted/copies_cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

#include "backend/coo_buffer.h"

/* Zero where there is no buffer. */
typedef struct amped_coo_buffer_cuda {
  amped_coo_buffer buffer;
  uint64_t capacity;
  bool on_device;
  void *block;    /* indices and values */
  void *d_tables; /* the plan's */
  uint64_t bytes; /* of device memory that is taken */
} amped_coo_buffer_cuda;

/* Add to the buffer of mode, which the first call makes; room_bytes is the device memory that is
 * left for it and for ordering it. */
amped_status amped_coo_buffer_cuda_add(amped_coo_buffer_cuda *p, const amped_plan *plan, int mode,
                                       const amped_nonzeros *nonzeros, uint64_t room_bytes,
                                       cudaStream_t stream);

/* Append the buffer to copies, ordered, and free it, whatever happens. */
amped_status amped_coo_buffer_cuda_sort(amped_coo_buffer_cuda *p, const amped_plan *plan, int mode,
                                        uint64_t room_bytes, amped_copies_cuda *copies,
                                        cudaStream_t stream, uint64_t *repeats);
void amped_coo_buffer_cuda_free(amped_coo_buffer_cuda *p);

/* What buffers and ordering them take at most on the plan's rank. */
void amped_coo_buffer_cuda_bytes(const amped_plan *plan, uint64_t room_bytes,
                                 uint64_t *device_bytes, uint64_t *host_bytes);

#ifdef __cplusplus
}
#endif

#endif
