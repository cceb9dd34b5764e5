/* Pinned: blocks of pinned host memory. A thread of its own pins them, in the order in which they
 * are needed. Pinning is slow (a few GB/s); reading goes on meanwhile
 * (docs/decisions/015-streaming-layout.md). */
#ifndef AMPED_PINNED_CUDA_H
#define AMPED_PINNED_CUDA_H

#include <pthread.h>

#include "cuda/device/device_cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct amped_pinned_cuda {
  int ordinal;
  uint64_t count;
  uint64_t *bytes;
  void **blocks;
  pthread_t thread;
  bool started;
  /* Under the lock. `taken` only grows. */
  pthread_mutex_t lock;
  pthread_cond_t changed;
  uint64_t taken;   /* number of blocks pinned so far: the first ones */
  cudaError_t code; /* error of the next block, if pinning it failed */
  bool stop;
} amped_pinned_cuda;

/* Start pinning `count` blocks of bytes[i] > 0 bytes for the current device. The struct is zero on
 * entry; `bytes` is copied. stop frees the memory, also after a failure. */
amped_status amped_pinned_cuda_start(amped_pinned_cuda *pinned, uint64_t count,
                                     const uint64_t *bytes);

/* Wait for block i. Returns AMPED_FAILED if pinning it, or a block before it, failed. */
amped_status amped_pinned_cuda_wait(amped_pinned_cuda *pinned, uint64_t i, void **block);

/* Stop the thread after its current block, wait for it, and free all blocks. */
void amped_pinned_cuda_stop(amped_pinned_cuda *pinned);

#ifdef __cplusplus
}
#endif

#endif
