/* Pinned: blocks of pinned host memory, taken by a thread of their own in the order in which they
 * will be needed. Pinning is slow (a few GB/s), and reading can go on meanwhile. */
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
  /* Under the lock; taken only grows. */
  pthread_mutex_t lock;
  pthread_cond_t changed;
  uint64_t taken;   /* blocks that are there: the first ones */
  cudaError_t code; /* why the next one is not and will not be */
  bool stop;
} amped_pinned_cuda;

/* Start taking `count` blocks of bytes[i] > 0 bytes for the current device; bytes is copied. Of a
 * struct that is zero. On failure, as after use, stop frees what there is. */
amped_status amped_pinned_cuda_start(amped_pinned_cuda *pinned, uint64_t count,
                                     const uint64_t *bytes);

/* Block i, once it is there. AMPED_FAILED where pinning failed before it. */
amped_status amped_pinned_cuda_wait(amped_pinned_cuda *pinned, uint64_t i, void **block);

/* Wait for the thread to end, after the block in hand, and free all blocks. */
void amped_pinned_cuda_stop(amped_pinned_cuda *pinned);

#ifdef __cplusplus
}
#endif

#endif
