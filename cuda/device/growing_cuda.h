/* Growing: device memory of one address that grows where it lies. Its addresses are reserved at
 * first, and get memory as it grows, so that nothing is copied and nothing is there twice. CUDA IPC
 * does not share it. */
#ifndef AMPED_GROWING_CUDA_H
#define AMPED_GROWING_CUDA_H

#include "cuda/device/device_cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct amped_growing_cuda {
  void *d_block;
  uint64_t reserved; /* bytes of addresses */
  uint64_t bytes;    /* of memory */
  int ordinal;       /* of the GPU */
} amped_growing_cuda;

/* Addresses for all memory of the GPU; no memory yet. Free with the third, which takes a zeroed
 * struct, too, after all work that uses the memory. */
amped_status amped_growing_cuda_create(amped_growing_cuda *g, const amped_device_cuda *device);
/* Memory for so many bytes, and some more; what is there stays. The new is not zero. The message
 * names `what`. */
amped_status amped_growing_cuda_grow(amped_growing_cuda *g, uint64_t bytes, const char *what);
void amped_growing_cuda_free(amped_growing_cuda *g);

/* Memory that grow takes at most for so many bytes. */
uint64_t amped_growing_cuda_bytes(uint64_t bytes);

#ifdef __cplusplus
}
#endif

#endif
