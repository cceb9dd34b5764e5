/* Kernels on one CPU core. Every thread of a thread block is a fiber; a fiber that must wait for
 * others lets them run. Blocks follow each other in their order. */
#ifndef EMULATED_KERNELS_H
#define EMULATED_KERNELS_H

#include <math.h>
#include <string.h>

#include <functional>

#define __host__
#define __device__
#define __global__
#define __forceinline__ inline
#define __noinline__
#define __launch_bounds__(...)
#define __grid_constant__
#define __shared__ static
#define __align__(n) __attribute__((aligned(n)))

struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned a = 1, unsigned b = 1, unsigned c = 1) : x(a), y(b), z(c) {
  }
};

extern dim3 threadIdx, blockIdx, blockDim, gridDim;

/* Thread blocks that have begun, of all launches. */
extern unsigned long emulated_blocks;

/* Shared memory of the size that a launch names. */
void *emulated_shared();

void emulated_launch(dim3 grid, dim3 block, size_t shared_bytes, cudaStream_t stream,
                     const std::function<void()> &kernel);
inline void emulated_launch(dim3 grid, dim3 block, size_t shared_bytes,
                            const std::function<void()> &kernel) {
  emulated_launch(grid, block, shared_bytes, nullptr, kernel);
}
inline void emulated_launch(dim3 grid, dim3 block, const std::function<void()> &kernel) {
  emulated_launch(grid, block, 0, nullptr, kernel);
}

/* --- vectors --------------------------------------------------------------------------------- */

struct alignas(8) float2 {
  float x, y;
};
struct alignas(16) float4 {
  float x, y, z, w;
};
struct alignas(16) double2 {
  double x, y;
};
struct alignas(8) uint2 {
  unsigned x, y;
};
struct alignas(16) uint4 {
  unsigned x, y, z, w;
};
struct alignas(8) int2 {
  int x, y;
};
inline float2 make_float2(float x, float y) {
  return {x, y};
}
inline float4 make_float4(float x, float y, float z, float w) {
  return {x, y, z, w};
}
inline double2 make_double2(double x, double y) {
  return {x, y};
}
inline uint2 make_uint2(unsigned x, unsigned y) {
  return {x, y};
}
inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) {
  return {x, y, z, w};
}

/* --- memory ---------------------------------------------------------------------------------- */

template <typename T> inline T __ldg(const T *p) {
  return *p;
}
template <typename T> inline T __ldcs(const T *p) {
  return *p;
}
template <typename T> inline T __ldcg(const T *p) {
  return *p;
}
template <typename T> inline void __stcs(T *p, T v) {
  *p = v;
}
template <typename T> inline void __stcg(T *p, T v) {
  *p = v;
}
inline void __threadfence() {
}
inline void __threadfence_system() {
}
void __nanosleep(unsigned nanoseconds);

template <typename T, typename U> inline T atomicAdd(T *p, U v) {
  const T old = *p;
  *p = (T)(old + (T)v);
  return old;
}
template <typename T, typename U> inline T atomicOr(T *p, U v) {
  const T old = *p;
  *p = (T)(old | (T)v);
  return old;
}
template <typename T, typename U> inline T atomicMax(T *p, U v) {
  const T old = *p;
  *p = old > (T)v ? old : (T)v;
  return old;
}
template <typename T, typename U> inline T atomicMin(T *p, U v) {
  const T old = *p;
  *p = old < (T)v ? old : (T)v;
  return old;
}
template <typename T, typename U> inline T atomicExch(T *p, U v) {
  const T old = *p;
  *p = (T)v;
  return old;
}
template <typename T, typename U, typename V> inline T atomicCAS(T *p, U compare, V v) {
  const T old = *p;
  if (old == (T)compare)
    *p = (T)v;
  return old;
}

/* --- numbers --------------------------------------------------------------------------------- */

inline int __popc(unsigned x) {
  return __builtin_popcount(x);
}
inline int __popcll(unsigned long long x) {
  return __builtin_popcountll(x);
}
inline int __ffs(int x) {
  return __builtin_ffs(x);
}
inline int __ffsll(long long x) {
  return __builtin_ffsll(x);
}
inline int __clz(int x) {
  return x == 0 ? 32 : __builtin_clz((unsigned)x);
}
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return (unsigned long long)((unsigned __int128)a * b >> 64);
}
template <typename To, typename From> inline To emulated_bits(From x) {
  To y;
  static_assert(sizeof x == sizeof y, "bits");
  memcpy(&y, &x, sizeof y);
  return y;
}
inline float __uint_as_float(unsigned x) {
  return emulated_bits<float>(x);
}
inline unsigned __float_as_uint(float x) {
  return emulated_bits<unsigned>(x);
}
inline long long __double2ll_rn(double x) {
  return llrint(x);
}
inline long long __double_as_longlong(double x) {
  return emulated_bits<long long>(x);
}
inline int __double2hiint(double x) {
  return (int)(__double_as_longlong(x) >> 32);
}
inline double __longlong_as_double(long long x) {
  return emulated_bits<double>(x);
}
inline float rsqrtf(float x) {
  return 1.0F / sqrtf(x);
}
inline double rsqrt(double x) {
  return 1.0 / sqrt(x);
}
inline double __fma_rn(double a, double b, double c) {
  return fma(a, b, c);
}
inline double __dmul_rn(double a, double b) {
  return a * b;
}
inline double __dadd_rn(double a, double b) {
  return a + b;
}
template <typename A, typename B> inline auto min(A a, B b) -> decltype(a + b) {
  return a < b ? a : b;
}
template <typename A, typename B> inline auto max(A a, B b) -> decltype(a + b) {
  return a > b ? a : b;
}

/* --- threads that work together -------------------------------------------------------------- */

void __syncthreads();
int __syncthreads_or(int x);
int __syncthreads_and(int x);
int __syncthreads_count(int x);

/* Inlined without optimisation, too: these functions return to another thread than called them,
 * which processors do not foresee. */
#define EMULATED_INLINE inline __attribute__((always_inline))

/* Lanes of the mask give `bytes` each, in a table of 32 that all get. */
void emulated_exchange(unsigned mask, const void *own, unsigned bytes, const void **table);
unsigned emulated_lane();

inline void __syncwarp(unsigned mask = 0xffffffffU) {
  const void *table = nullptr;
  const char none = 0;
  emulated_exchange(mask, &none, 1, &table);
}

template <typename T> EMULATED_INLINE T emulated_from(unsigned mask, T own, unsigned lane) {
  const void *table = nullptr;
  T out;
  emulated_exchange(mask, &own, sizeof own, &table);
  memcpy(&out, static_cast<const char *>(table) + lane * 16, sizeof out);
  return out;
}
template <typename T> EMULATED_INLINE T __shfl_sync(unsigned mask, T x, int from, int width = 32) {
  const unsigned lane = emulated_lane();
  return emulated_from(mask, x,
                       lane / (unsigned)width * (unsigned)width + (unsigned)from % (unsigned)width);
}
/* The lanes that have the same. */
template <typename T> inline unsigned __match_any_sync(unsigned mask, T x) {
  unsigned equal = 0;
  for (int lane = 0; lane < 32; lane++)
    equal |= (unsigned)((mask >> lane & 1U) != 0 && __shfl_sync(mask, x, lane) == x) << lane;
  return equal;
}
template <typename T>
EMULATED_INLINE T __shfl_xor_sync(unsigned mask, T x, int by, int width = 32) {
  const unsigned lane = emulated_lane();
  const unsigned from = lane ^ (unsigned)by;
  return emulated_from(mask, x, from / (unsigned)width == lane / (unsigned)width ? from : lane);
}
template <typename T>
EMULATED_INLINE T __shfl_down_sync(unsigned mask, T x, unsigned by, int width = 32) {
  const unsigned lane = emulated_lane();
  const unsigned from = lane + by;
  return emulated_from(mask, x, from / (unsigned)width == lane / (unsigned)width ? from : lane);
}
template <typename T>
EMULATED_INLINE T __shfl_up_sync(unsigned mask, T x, unsigned by, int width = 32) {
  const unsigned lane = emulated_lane();
  return emulated_from(mask, x, lane % (unsigned)width >= by ? lane - by : lane);
}
unsigned __ballot_sync(unsigned mask, int x);
inline int __any_sync(unsigned mask, int x) {
  return __ballot_sync(mask, x) != 0;
}
inline int __all_sync(unsigned mask, int x) {
  return __ballot_sync(mask, x) == mask;
}
unsigned __activemask();

#endif
