/* The GPU of a rank: its number, its name, the memory that may be used; and the check of every CUDA
 * call.
 *
 * Plain C for the host. A failed call is recorded once, in one line, with a remedy. */
#ifndef AMPED_DEVICE_CUDA_H
#define AMPED_DEVICE_CUDA_H

#include <cuda_runtime_api.h>

#ifdef __cplusplus
extern "C" {
#endif

#include "backend/backend.h"
#include "cuda/device/caches_cuda.h"

typedef struct amped_device_cuda {
  int ordinal;
  amped_caches_cuda caches;
  uint64_t budget_bytes; /* memory that this rank may allocate, within the user's limit */
  char identity[48];     /* "GPU-" and the UUID */
  char line[512];        /* "GPU 0 NVIDIA H200, 139.8 GiB free, UUID GPU-..." */
} amped_device_cuda;

/* The functions of amped_device_ops of the same names. */
bool amped_device_cuda_available(const char **reason);
void amped_device_cuda_before_mpi(int local_rank);

/* Returns the number of a local rank's GPU: its local rank, modulo the number of visible GPUs. */
int amped_device_cuda_ordinal(int local_rank, int visible);
/* Write "GPU-" and a UUID, in 48 bytes at most. */
void amped_device_cuda_identity(char *out, size_t size, const cudaUUID_t *uuid);

/* Bind the calling thread to the GPU of options->local_rank. */
amped_status amped_device_cuda_open(amped_device_cuda *device,
                                    const amped_backend_options *options);

/* Keep the calling thread on the CPUs nearest to a GPU, so that host memory that it touches first
 * lies there. If the system does not name these CPUs, or forbids it, nothing changes, which costs
 * only speed. */
void amped_device_cuda_stay_near(int ordinal);

/* Allocate device memory with cudaMalloc, so that CUDA IPC can share it, or pinned host memory.
 * *out is NULL for 0 bytes and after a failure; the message names `what`. Freeing NULL is
 * allowed. */
amped_status amped_cuda_malloc(void **out, uint64_t bytes, const char *what);
/* amped_cuda_malloc for memory that other GPUs copy to. Sizes of 2 MiB or more are rounded up to
 * whole pages of 2 MiB, which CUDA uses for them anyway. */
amped_status amped_cuda_malloc_pages(void **out, uint64_t bytes, const char *what);
amped_status amped_cuda_host_alloc(void **out, uint64_t bytes, const char *what);
/* Record the error line of pinned host memory that cudaHostAlloc refused with `code`. Returns
 * AMPED_FAILED. */
amped_status amped_cuda_no_host_memory(cudaError_t code, uint64_t bytes, const char *what);
void amped_cuda_free(void *d_block);
void amped_cuda_host_free(void *h_block);

/* Cache freed memory between keep_memory and stop_keeping, for later requests of a similar size.
 * Calls may nest. CUDA needs a millisecond to allocate or free a block, and every batch of a stream
 * requests the same blocks. Cached blocks are freed if CUDA runs out of memory, and with the last
 * stop_keeping. As with CUDA's own functions, freeing waits for all work on the device. */
void amped_cuda_keep_memory(void);
void amped_cuda_stop_keeping(void);
bool amped_cuda_keeps_memory(void); /* true while memory is cached */

/* Return from the calling function if the call fails. AMPED_CUDA_LAUNCHED, with the kernel's name,
 * follows every kernel launch. */
#define AMPED_CUDA(call) AMPED_TRY(amped_cuda_check((call), #call))
#define AMPED_CUDA_LAUNCHED(name) AMPED_TRY(amped_cuda_check(cudaGetLastError(), name))
amped_status amped_cuda_check(cudaError_t code, const char *call);

#ifdef __cplusplus
}
#endif

#endif
