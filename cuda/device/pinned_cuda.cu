/* The thread that pins blocks of host memory. */
#include "cuda/device/pinned_cuda.h"

#include <cstring>

extern "C" {
#include "base/mem.h"
}

/* Count a pinned block, or record its error for the threads that wait. Returns false if this thread
 * must end. */
static bool tell(amped_pinned_cuda *p, cudaError_t code) {
  (void)pthread_mutex_lock(&p->lock);
  p->code = code;
  if (code == cudaSuccess)
    p->taken++;
  const bool go = code == cudaSuccess && !p->stop;
  (void)pthread_cond_broadcast(&p->changed);
  (void)pthread_mutex_unlock(&p->lock);
  return go;
}

static void *take_blocks(void *argument) {
  amped_pinned_cuda *p = static_cast<amped_pinned_cuda *>(argument);
  cudaError_t code = cudaSetDevice(p->ordinal);
  if (code != cudaSuccess) {
    (void)tell(p, code);
    return nullptr;
  }
  amped_device_cuda_stay_near(p->ordinal);
  for (uint64_t i = 0; i < p->count; i++) {
    code = cudaHostAlloc(&p->blocks[i], p->bytes[i], cudaHostAllocDefault);
    if (code != cudaSuccess) {
      p->blocks[i] = nullptr;
      (void)cudaGetLastError();
    }
    if (!tell(p, code))
      break;
  }
  return nullptr;
}

amped_status amped_pinned_cuda_start(amped_pinned_cuda *p, uint64_t count, const uint64_t *bytes) {
  if (count == 0)
    return AMPED_OK;
  AMPED_CUDA(cudaGetDevice(&p->ordinal));
  AMPED_TRY(amped_alloc(&p->bytes, count, sizeof *bytes, "the list of pinned blocks"));
  AMPED_TRY(amped_calloc(&p->blocks, count, sizeof *p->blocks, "the list of pinned blocks"));
  memcpy(p->bytes, bytes, count * sizeof *bytes);
  p->count = count;
  (void)pthread_mutex_init(&p->lock, nullptr);
  (void)pthread_cond_init(&p->changed, nullptr);
  const int failed = pthread_create(&p->thread, nullptr, take_blocks, p);
  if (failed != 0)
    return amped_error_errno(AMPED_FAILED, failed, nullptr, "no thread for pinning host memory");
  p->started = true;
  return AMPED_OK;
}

amped_status amped_pinned_cuda_wait(amped_pinned_cuda *p, uint64_t i, void **block) {
  (void)pthread_mutex_lock(&p->lock);
  while (p->taken <= i && p->code == cudaSuccess)
    (void)pthread_cond_wait(&p->changed, &p->lock);
  const bool there = p->taken > i;
  const cudaError_t code = p->code;
  (void)pthread_mutex_unlock(&p->lock);
  if (!there)
    return amped_cuda_no_host_memory(code, p->bytes[i], "a piece of a tensor copy");
  *block = p->blocks[i];
  return AMPED_OK;
}

void amped_pinned_cuda_stop(amped_pinned_cuda *p) {
  if (p->started) {
    (void)pthread_mutex_lock(&p->lock);
    p->stop = true;
    (void)pthread_mutex_unlock(&p->lock);
    (void)pthread_join(p->thread, nullptr);
  }
  for (uint64_t i = 0; i < p->count; i++)
    amped_cuda_host_free(p->blocks[i]);
  if (p->count > 0) {
    (void)pthread_cond_destroy(&p->changed);
    (void)pthread_mutex_destroy(&p->lock);
  }
  amped_free(p->bytes);
  amped_free(p->blocks);
  memset(p, 0, sizeof *p);
}
