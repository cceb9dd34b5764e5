/* The loader of histories: the numbers of one row's earlier nonzeros (row_fit.h), from the device's
 * memory to shared memory, 16 bytes per thread at a time. */
#ifndef AMPED_ROW_HISTORY_CUDA_CUH
#define AMPED_ROW_HISTORY_CUDA_CUH

#include <cstdint>
#include <cuda_pipeline.h>

namespace {

/* Floats of shared memory for a history of at most W components. It lies there from the 16-byte
 * line in which it begins. */
template <int W> constexpr int history_floats = (W * (W + 1) / 2 + 2 * W + 3 + 6) / 4 * 4;

/* Floats from the beginning of that line to the history. (A function that returned the address
 * itself would cost spills.) */
__device__ inline uintptr_t history_offset(const float *history) {
  return reinterpret_cast<uintptr_t>(history) % 16 / sizeof(float);
}

/* Start to load `length` numbers, by that many threads; zeros if nothing is kept. They are there
 * after __pipeline_wait_prior(0) and a barrier of these threads. */
template <unsigned threads>
__device__ inline void ask_history(float *memory, const float *history, bool is_kept,
                                   unsigned length, unsigned thread) {
  const unsigned before = (unsigned)(reinterpret_cast<uintptr_t>(history) % 16);
  const unsigned bytes = before + length * (unsigned)sizeof(float);
  const char *const from = reinterpret_cast<const char *>(history) - before;
  char *const to = reinterpret_cast<char *>(memory);
  if (is_kept) {
#pragma unroll 1
    for (unsigned at = 16 * thread; at < bytes; at += 16 * threads)
      __pipeline_memcpy_async(to + at, from + at, 16, bytes - at < 16 ? 16 - (bytes - at) : 0);
  } else {
#pragma unroll 1
    for (unsigned at = 16 * thread; at < bytes; at += 16 * threads)
      *reinterpret_cast<float4 *>(to + at) = make_float4(0.0F, 0.0F, 0.0F, 0.0F);
  }
  __pipeline_commit();
}

} // namespace

#endif
