/* Growable device buffer: reserves address space once, and maps memory as it grows. The buffer
 * never moves, so that nothing is copied, and no memory is needed twice. CUDA IPC cannot share
 * it. */
#ifndef AMPED_GROWABLE_CUDA_H
#define AMPED_GROWABLE_CUDA_H

#include "cuda/device/device_cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct amped_growable_cuda {
  void *d_block;
  uint64_t reserved; /* bytes of address space */
  uint64_t bytes;    /* bytes of mapped memory */
  int ordinal;       /* number of the GPU */
} amped_growable_cuda;

/* Reserve address space for all memory of the GPU, and map none yet. Free with
 * amped_growable_cuda_free, which also accepts a zeroed struct, after all work that uses the
 * memory. */
amped_status amped_growable_cuda_create(amped_growable_cuda *g, const amped_device_cuda *device);
/* Map memory for `bytes` bytes, and some more; existing contents stay. New memory is not zero. The
 * message names `what`. */
amped_status amped_growable_cuda_grow(amped_growable_cuda *g, uint64_t bytes, const char *what);
void amped_growable_cuda_free(amped_growable_cuda *g);

/* Returns the most memory that grow maps for `bytes` bytes. */
uint64_t amped_growable_cuda_bytes(uint64_t bytes);

#ifdef __cplusplus
}
#endif

#endif
