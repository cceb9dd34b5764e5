/* Cells of a dense tensor, widened in the kernel: four neighbours at a time, to floats or
 * doubles. */
#ifndef AMPED_CELLS_CUDA_CUH
#define AMPED_CELLS_CUDA_CUH

#include <cstdint>

extern "C" {
#include "tensor/cell_type.h"
}

namespace {

/* Four words of 4 bytes. */
struct words4 {
  unsigned x[4];
};

__device__ inline words4 load16(const unsigned char *at) {
  const uint4 v = *reinterpret_cast<const uint4 *>(at);
  return {{v.x, v.y, v.z, v.w}};
}

/* Returns the half float with these bits. A multiplication adjusts the exponent. */
__device__ inline float half_float(unsigned bits) {
  const float size = __uint_as_float((bits & 0x7fffU) << 13) * 0x1p112F;
  return (bits & 0x8000U) != 0 ? -size : size;
}

/* Convert four cells from `at` on to T. The type of the pointer argument selects the cells: float,
 * double, or an unsigned word of 1, 2, 4 or 8 bytes; `type` says what a word means. Cells of 8
 * bytes: the last two lie `next` bytes behind the first two. */
template <typename T>
__device__ inline void widen(const unsigned char *at, int, amped_cell_type, const float *, T *out) {
  const words4 w = load16(at);
#pragma unroll
  for (int i = 0; i < 4; i++)
    out[i] = (T)__uint_as_float(w.x[i]);
}

template <typename T>
__device__ inline void widen(const unsigned char *at, int next, amped_cell_type, const double *,
                             T *out) {
#pragma unroll
  for (int i = 0; i < 2; i++) {
    const double2 v = *reinterpret_cast<const double2 *>(at + next * i);
    out[2 * i] = (T)v.x;
    out[2 * i + 1] = (T)v.y;
  }
}

template <typename T>
__device__ inline void widen(const unsigned char *at, int, amped_cell_type type, const uint8_t *,
                             T *out) {
  const unsigned w = *reinterpret_cast<const unsigned *>(at);
#pragma unroll
  for (int i = 0; i < 4; i++) {
    const unsigned x = w >> (8 * i) & 0xffU;
    out[i] = type == AMPED_CELL_U8 ? (T)x : (T)(int)(int8_t)x;
  }
}

template <typename T>
__device__ inline void widen(const unsigned char *at, int, amped_cell_type type, const uint16_t *,
                             T *out) {
  const uint2 w = *reinterpret_cast<const uint2 *>(at);
#pragma unroll
  for (int i = 0; i < 4; i++) {
    const unsigned x = (i < 2 ? w.x : w.y) >> (16 * (i % 2)) & 0xffffU;
    out[i] = type == AMPED_CELL_F16   ? (T)half_float(x)
             : type == AMPED_CELL_U16 ? (T)x
                                      : (T)(int)(int16_t)x;
  }
}

template <typename T>
__device__ inline void widen(const unsigned char *at, int, amped_cell_type type, const uint32_t *,
                             T *out) {
  const words4 w = load16(at);
#pragma unroll
  for (int i = 0; i < 4; i++)
    out[i] = type == AMPED_CELL_U32 ? (T)w.x[i] : (T)(int)w.x[i];
}

template <typename T>
__device__ inline void widen(const unsigned char *at, int next, amped_cell_type type,
                             const uint64_t *, T *out) {
#pragma unroll
  for (int i = 0; i < 2; i++) {
    const words4 w = load16(at + next * i);
#pragma unroll
    for (int j = 0; j < 2; j++) {
      const uint64_t x = (uint64_t)w.x[2 * j + 1] << 32 | w.x[2 * j];
      out[2 * i + j] = type == AMPED_CELL_U64 ? (T)x : (T)(int64_t)x;
    }
  }
}

/* Returns cell i as a double. */
__device__ inline double cell_at(const void *cells, amped_cell_type type, uint64_t i) {
  switch (type) {
  case AMPED_CELL_I8:
    return (double)static_cast<const int8_t *>(cells)[i];
  case AMPED_CELL_U8:
    return (double)static_cast<const uint8_t *>(cells)[i];
  case AMPED_CELL_I16:
    return (double)static_cast<const int16_t *>(cells)[i];
  case AMPED_CELL_U16:
    return (double)static_cast<const uint16_t *>(cells)[i];
  case AMPED_CELL_I32:
    return (double)static_cast<const int32_t *>(cells)[i];
  case AMPED_CELL_U32:
    return (double)static_cast<const uint32_t *>(cells)[i];
  case AMPED_CELL_I64:
    return (double)static_cast<const int64_t *>(cells)[i];
  case AMPED_CELL_U64:
    return (double)static_cast<const uint64_t *>(cells)[i];
  case AMPED_CELL_F16:
    return (double)half_float(static_cast<const uint16_t *>(cells)[i]);
  case AMPED_CELL_F32:
    return (double)static_cast<const float *>(cells)[i];
  default:
    return static_cast<const double *>(cells)[i];
  }
}

} // namespace

#endif
