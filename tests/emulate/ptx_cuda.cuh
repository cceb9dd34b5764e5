/* Twin of cuda/device/ptx_cuda.cuh: the same functions, for kernels that run on a CPU. */
#ifndef AMPED_PTX_CUDA_CUH
#define AMPED_PTX_CUDA_CUH

#include <cuda_pipeline.h>

namespace {

template <typename vector>
inline const vector *row_address(const vector *base, unsigned row, unsigned bytes) {
  return reinterpret_cast<const vector *>(reinterpret_cast<const char *>(base) +
                                          (unsigned long)row * bytes);
}

template <typename T> inline T *kept(T *pointer) {
  return pointer;
}

inline unsigned fresh(unsigned x) {
  return x;
}

inline void copy_cached(void *to, const void *from) {
  __pipeline_memcpy_async(to, from, 16);
}

inline unsigned load_acquire(const unsigned *flag) {
  return *(const volatile unsigned *)flag;
}

inline void store_release(unsigned *flag, unsigned value) {
  *flag = value;
}

template <typename T> inline T reciprocal(T x) {
  return (T)1 / x;
}

inline float reciprocal_root(float x) {
  return 1.0F / sqrtf(x);
}

/* Tensor cores read the first 19 bits of a number. Here sums are rounded, there they are cut. */
inline void multiply_tf32(float *c, unsigned a0, unsigned a1, unsigned a2, unsigned a3, unsigned b0,
                          unsigned b1) {
  struct four {
    unsigned x[4];
  };
  const void *table = nullptr;
  const unsigned g = emulated_lane() / 4;
  const unsigned t = emulated_lane() % 4;
  const auto number = [&](unsigned lane, unsigned i) {
    unsigned bits = 0;
    memcpy(&bits, static_cast<const char *>(table) + 16 * lane + 4 * i, sizeof bits);
    return (double)__uint_as_float(bits & ~0x1fffU);
  };
  const four a = {{a0, a1, a2, a3}};
  const four b = {{b0, b1, 0U, 0U}};
  double rows[2][8];
  emulated_exchange(0xffffffffU, &a, sizeof a, &table);
  for (unsigned k = 0; k < 8; k++)
    for (unsigned i = 0; i < 2; i++)
      rows[i][k] = number(4 * g + k % 4, i + (k >= 4 ? 2 : 0));
  emulated_exchange(0xffffffffU, &b, sizeof b, &table);
  double sums[4] = {(double)c[0], (double)c[1], (double)c[2], (double)c[3]};
  for (unsigned k = 0; k < 8; k++)
    for (unsigned j = 0; j < 2; j++) {
      const double right = number(4 * (2 * t + j) + k % 4, k / 4);
      sums[j] += rows[0][k] * right;
      sums[2 + j] += rows[1][k] * right;
    }
  for (unsigned i = 0; i < 4; i++)
    c[i] = (float)sums[i];
}

inline void multiply_f64(double *c, double a0, double a1, double a2, double a3, double b0,
                         double b1) {
  const double own[2][2] = {{a0, a2}, {a1, a3}};
  const double right[2] = {b0, b1};
  const unsigned g = emulated_lane() / 4;
  const unsigned t = emulated_lane() % 4;
  for (unsigned i = 0; i < 2; i++)
    for (unsigned k = 0; k < 8; k++) {
      const double a = emulated_from(0xffffffffU, own[i][k / 4], 4 * g + k % 4);
      for (unsigned j = 0; j < 2; j++)
        c[2 * i + j] += a * emulated_from(0xffffffffU, right[k / 4], 4 * (2 * t + j) + k % 4);
    }
}

/* Copies that arrive by themselves, and products of warp groups: done at once. */
inline void group_arrivals(uint64_t *, int) {
}
inline void group_copy(unsigned char *to, const unsigned char *from, unsigned bytes, uint64_t *) {
  memcpy(to, from, bytes);
}
inline void group_arrival(uint64_t *, unsigned) {
}

inline void group_begin() {
}
inline void group_commit() {
}
inline void group_wrote() {
}
template <int N> inline void group_wait(float *) {
}

/* c (or 0) + a b of so many k, of which half lie in each half of b: number(at, i) is number i at an
 * address, and left(k, i) the place of row i's k among a warp's words of a. */
template <int N, int depth, typename reader, typename place>
inline void group_multiply(float *c, const void *a, const unsigned char *b, bool add,
                           const reader &number, const place &left) {
  const void *table = nullptr;
  const unsigned t = emulated_lane() % 4;
  double rows[2][depth];
  emulated_exchange(0xffffffffU, a, 16, &table);
  for (unsigned k = 0; k < depth; k++)
    for (unsigned i = 0; i < 2; i++)
      rows[i][k] = number(table, left(k, i));
  for (unsigned n = 0; n < N; n += 8)
    for (unsigned j = 0; j < 2; j++)
      for (unsigned i = 0; i < 2; i++) {
        float &to = c[n / 2 + 2 * i + j];
        double sum = add ? (double)to : 0;
        for (unsigned k = 0; k < depth; k++)
          sum +=
              rows[i][k] * number(b + 16 * (k / (depth / 2) * N + n + 2 * t + j), k % (depth / 2));
        to = (float)sum;
      }
}

template <int N>
inline void group_multiply_tf32(float *c, const float *a, const unsigned char *b, bool add) {
  const unsigned g = emulated_lane() / 4;
  group_multiply<N, 8>(
      c, a, b, add,
      [](const void *at, unsigned i) {
        unsigned bits = 0;
        memcpy(&bits, static_cast<const char *>(at) + 4 * i, sizeof bits);
        return (double)__uint_as_float(bits & ~0x1fffU);
      },
      [g](unsigned k, unsigned i) { return 4 * (4 * g + k % 4) + i + k / 4 * 2; });
}

template <int N>
inline void group_multiply_bf16(float *c, const unsigned *a, const unsigned char *b, bool add) {
  const unsigned g = emulated_lane() / 4;
  group_multiply<N, 16>(
      c, a, b, add,
      [](const void *at, unsigned i) {
        unsigned short bits = 0;
        memcpy(&bits, static_cast<const char *>(at) + 2 * i, sizeof bits);
        return (double)__uint_as_float((unsigned)bits << 16);
      },
      [g](unsigned k, unsigned i) {
        return 2 * (4 * (4 * g + k % 8 / 2) + i + k / 8 * 2) + k % 2;
      });
}

/* Rounded to even. */
inline unsigned two_halves(float x, float y) {
  const auto half = [](float v) {
    const unsigned bits = __float_as_uint(v);
    return (bits + 0x7fffU + (bits >> 16 & 1U)) >> 16;
  };
  return half(x) | half(y) << 16;
}

} // namespace

#endif
