/* Row ring: rows of inputs that are copied to a warp's shared memory ahead of their use. It has one
 * stage, or two in turn, of the rows of eight nonzeros. A copy takes no registers while it is under
 * way.
 *
 * Eight lanes copy a row of W = 16, 32 or 64 components, and lane (g, t) reads its components of
 * rows t and t + 4 (row_warps_cuda.cuh). So that eight lanes that read at a time find different
 * banks, the eighths of row t lie in another order. */
#ifndef AMPED_ROW_RING_CUDA_CUH
#define AMPED_ROW_RING_CUDA_CUH

#include <cuda_pipeline.h>

#include "cuda/complete/fit_columns_cuda.cuh"
#include "cuda/complete/warp_solve_cuda.cuh"

namespace {

/* N: number of inputs, or most_inputs for any number. warps: that fit on a multiprocessor, each as
 * a thread block. before: bytes of shared memory before the ring, a multiple of 16. */
template <int W, int N, int warps, unsigned before> class row_ring {
  static constexpr unsigned row_bytes = W * sizeof(float);
  static constexpr unsigned input_bytes = 8 * row_bytes; /* each stage's share of an input */

  /* Shared memory left for each warp on a multiprocessor of compute capability 9.0. CUDA takes 1 KB
   * of a thread block. */
  static constexpr int left = (228 << 10) / warps - (1 << 10) - (int)before;

public:
  static constexpr unsigned stages = N < most_inputs && 2 * N * (int)input_bytes <= left ? 2 : 1;
  static unsigned bytes_of(int inputs) {
    return stages * (unsigned)inputs * input_bytes;
  }

  __device__ row_ring(unsigned char *shared, unsigned inputs, unsigned lane)
      : begin(shared + before), to(lane / 8 * row_bytes + place(lane / 8, lane % 8)),
        from(lane % 4 * row_bytes + place(lane % 4, lane / 4)),
        both_to(2 * to + (N < most_inputs ? N : inputs) * input_bytes),
        both_from(2 * from + (N < most_inputs ? N : inputs) * input_bytes) {
  }

  /* Copy the lane's share of nonzero lane / 8 + 4 i, of input m. source: the share's first
   * number. */
  __device__ __forceinline__ void ask(int i, int m, const float *source, const lane_share &share) {
    unsigned char *const at = begin + to + offset(i, m);
    if constexpr (W == 16)
      __pipeline_memcpy_async(at, source, 8);
    else
#pragma unroll
      for (unsigned k = 0; k < W / 32; k++)
        copy_cached(at + 128 * k, source + (k > 0 ? share.second - share.first : 0U));
  }
  /* The stage's copies have been asked for. */
  __device__ __forceinline__ void asked() {
    __pipeline_commit();
    under_way++;
    if (stages > 1)
      to = both_to - to;
  }
  /* Stages that are under way. */
  __device__ __forceinline__ unsigned count() const {
    return under_way;
  }

  /* Wait for the older of `count` stages. */
  static __device__ __forceinline__ void wait(unsigned count) {
    if (stages > 1 && count > 1)
      __pipeline_wait_prior(1);
    else
      __pipeline_wait_prior(0);
    __syncwarp();
  }
  /* Wait for all that was asked for before the stages that are under way. */
  __device__ __forceinline__ void wait_for_earlier() const {
    if (stages > 1 && under_way == 2)
      __pipeline_wait_prior(2);
    else if (under_way > 0)
      __pipeline_wait_prior(1);
    else
      __pipeline_wait_prior(0);
    __syncwarp();
  }
  /* Read the components of nonzero t + 4 i, of input m. */
  __device__ __forceinline__ void take(int i, int m, float *v) const {
    const unsigned char *const at = begin + from + offset(i, m);
    if constexpr (W == 16) {
      const float2 two = *reinterpret_cast<const float2 *>(at);
      v[0] = two.x;
      v[1] = two.y;
    } else
#pragma unroll
      for (unsigned k = 0; k < W / 32; k++)
        read4(reinterpret_cast<const float *>(at + 128 * k), v + 4 * k);
  }
  /* The stage has been read. */
  __device__ __forceinline__ void taken() {
    __syncwarp();
    under_way--;
    if (stages > 1)
      from = both_from - from;
  }

private:
  unsigned char *const begin;
  unsigned to, from; /* the lane's first byte of row lane / 8 in the stage that is asked for next;
                        of row t in the older one */
  const unsigned both_to, both_from; /* sums of these bytes of both stages */
  unsigned under_way = 0;

  /* Byte of eighth g in row t of four, modulo 128 bytes. */
  static __device__ unsigned place(unsigned t, unsigned g) {
    return W == 16 ? 8 * (g ^ t / 2 * 4) : 16 * (g ^ 2 * t);
  }
  static __device__ __forceinline__ unsigned offset(int i, int m) {
    return (unsigned)m * input_bytes + (unsigned)i * 4 * row_bytes;
  }
};

} // namespace

#endif
