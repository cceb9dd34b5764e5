/* Row traversal on CPU cores: instances of row_traversal_body.h per processor and type. */
#include "cpu/complete/row_traversal_cpu.h"

#include <float.h>
#include <string.h>

#include "base/cpu_dispatch.h"

/* Allow fused multiply-add, which rounds once, on processors that have it. */
#ifndef __clang__ /* clang contracts by default */
#pragma GCC optimize("fp-contract=fast")
#endif

/* Bytes of a vector. Vectors longer than the processor's would be spilled to memory. */
#define BYTES_avx512 64
#define BYTES_avx2 32
#define BYTES_any 16

/* Vector types, and the sum of a vector's elements by repeated halving. */
#define DEFINE_VECTORS(TYPE, MASK, BYTES)                                                          \
  typedef TYPE TYPE##s_##BYTES __attribute__((vector_size(BYTES)));                                \
  typedef MASK TYPE##s_mask_##BYTES __attribute__((vector_size(BYTES)));                           \
  typedef TYPE loose_##TYPE##s_##BYTES                                                             \
      __attribute__((vector_size(BYTES), aligned(sizeof(TYPE)), may_alias));
#define DEFINE_TOTAL(TYPE, BYTES, HALF)                                                            \
  AMPED_INLINE TYPE total_##TYPE##s_##BYTES(const TYPE##s_##BYTES *x) {                            \
    TYPE##s_##HALF halves[2];                                                                      \
    memcpy(halves, x, sizeof *x);                                                                  \
    halves[0] += halves[1];                                                                        \
    return total_##TYPE##s_##HALF(&halves[0]);                                                     \
  }
DEFINE_VECTORS(float, int32_t, 64)
DEFINE_VECTORS(float, int32_t, 32)
DEFINE_VECTORS(float, int32_t, 16)
DEFINE_VECTORS(double, int64_t, 64)
DEFINE_VECTORS(double, int64_t, 32)
DEFINE_VECTORS(double, int64_t, 16)
AMPED_INLINE float total_floats_16(const floats_16 *x) {
  return ((*x)[0] + (*x)[2]) + ((*x)[1] + (*x)[3]);
}
AMPED_INLINE double total_doubles_16(const doubles_16 *x) {
  return (*x)[0] + (*x)[1];
}
DEFINE_TOTAL(float, 32, 16)
DEFINE_TOTAL(float, 64, 32)
DEFINE_TOTAL(double, 32, 16)
DEFINE_TOTAL(double, 64, 32)

/* Sums of four vectors at once. Floats: within each quarter, pairs of vectors are merged and added,
 * twice. */
#define LOW_16(a, b) __builtin_shufflevector(a, b, 0, 4, 1, 5)
#define HIGH_16(a, b) __builtin_shufflevector(a, b, 2, 6, 3, 7)
#define LOW_32(a, b) __builtin_shufflevector(a, b, 0, 8, 1, 9, 4, 12, 5, 13)
#define HIGH_32(a, b) __builtin_shufflevector(a, b, 2, 10, 3, 11, 6, 14, 7, 15)
#define LOW_64(a, b)                                                                               \
  __builtin_shufflevector(a, b, 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29)
#define HIGH_64(a, b)                                                                              \
  __builtin_shufflevector(a, b, 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31)
#define DEFINE_TOTALS(BYTES)                                                                       \
  AMPED_INLINE void totals_floats_##BYTES(const floats_##BYTES *x, float *out) {                   \
    const floats_##BYTES even = LOW_##BYTES(x[0], x[2]) + HIGH_##BYTES(x[0], x[2]);                \
    const floats_##BYTES odd = LOW_##BYTES(x[1], x[3]) + HIGH_##BYTES(x[1], x[3]);                 \
    const floats_##BYTES all = LOW_##BYTES(even, odd) + HIGH_##BYTES(even, odd);                   \
    floats_16 quarters[BYTES / 16];                                                                \
    memcpy(quarters, &all, sizeof all);                                                            \
    for (int q = 1; q < BYTES / 16; q++)                                                           \
      quarters[0] += quarters[q];                                                                  \
    memcpy(out, quarters, sizeof *quarters);                                                       \
  }                                                                                                \
  AMPED_INLINE void totals_doubles_##BYTES(const doubles_##BYTES *x, double *out) {                \
    for (int i = 0; i < 4; i++)                                                                    \
      out[i] = total_doubles_##BYTES(&x[i]);                                                       \
  }
DEFINE_TOTALS(16)
DEFINE_TOTALS(32)
DEFINE_TOTALS(64)

#define VALUE float
#define VECTOR floats_64
#define LOOSE loose_floats_64
#define MASK floats_mask_64
#define STEP(x) x##_floats_64
#include "cpu/complete/row_traversal_body.h"
#undef VECTOR
#undef LOOSE
#undef MASK
#undef STEP

#define VECTOR floats_32
#define LOOSE loose_floats_32
#define MASK floats_mask_32
#define STEP(x) x##_floats_32
#include "cpu/complete/row_traversal_body.h"
#undef VECTOR
#undef LOOSE
#undef MASK
#undef STEP

#define VECTOR floats_16
#define LOOSE loose_floats_16
#define MASK floats_mask_16
#define STEP(x) x##_floats_16
#include "cpu/complete/row_traversal_body.h"
#undef VALUE
#undef VECTOR
#undef LOOSE
#undef MASK
#undef STEP

#define VALUE double
#define VECTOR doubles_64
#define LOOSE loose_doubles_64
#define MASK doubles_mask_64
#define STEP(x) x##_doubles_64
#include "cpu/complete/row_traversal_body.h"
#undef VECTOR
#undef LOOSE
#undef MASK
#undef STEP

#define VECTOR doubles_32
#define LOOSE loose_doubles_32
#define MASK doubles_mask_32
#define STEP(x) x##_doubles_32
#include "cpu/complete/row_traversal_body.h"
#undef VECTOR
#undef LOOSE
#undef MASK
#undef STEP

#define VECTOR doubles_16
#define LOOSE loose_doubles_16
#define MASK doubles_mask_16
#define STEP(x) x##_doubles_16
#include "cpu/complete/row_traversal_body.h"
#undef VALUE
#undef VECTOR
#undef LOOSE
#undef MASK
#undef STEP

/* Instances: processor x type. */
#define DEFINE_OF(CPU, TYPE, BYTES)                                                                \
  AMPED_TARGET_##CPU static void traversal_##TYPE##_##CPU(                                         \
      amped_walker *w, int walkers, uint64_t count, uint64_t width, bool clip, double least) {     \
    traversal_##TYPE##s_##BYTES(w, walkers, count, width, clip, least);                            \
  }                                                                                                \
  AMPED_TARGET_##CPU static void numbers_##TYPE##_##CPU(                                           \
      const amped_step_rule *rule, const void *products, const void *targets, uint64_t count,      \
      uint64_t width, uint64_t tail, uint64_t *seen, double *curvatures, void *numbers) {          \
    numbers_##TYPE##s_##BYTES(rule, (const TYPE *)products, (const TYPE *)targets, count, width,   \
                              tail, seen, curvatures, (TYPE *)numbers);                            \
  }                                                                                                \
  AMPED_TARGET_##CPU static double errors_##TYPE##_##CPU(                                          \
      const void *products, const void *targets, uint64_t count, uint64_t width, const void *row,  \
      double bias) {                                                                               \
    return errors_##TYPE##s_##BYTES((const TYPE *)products, (const TYPE *)targets, count, width,   \
                                    (const TYPE *)row, bias);                                      \
  }
#define DEFINE_BYTES(CPU, TYPE, BYTES) DEFINE_OF(CPU, TYPE, BYTES)
#define DEFINE(CPU)                                                                                \
  DEFINE_BYTES(CPU, float, BYTES_##CPU)                                                            \
  DEFINE_BYTES(CPU, double, BYTES_##CPU)
AMPED_CPU_DISPATCH(DEFINE)

amped_row_traversal_kernels amped_row_traversal_kernels_find(amped_vtype type) {
#define ROW(CPU)                                                                                   \
  {.here = AMPED_HAS_##CPU,                                                                        \
   .type = AMPED_F32,                                                                              \
   .kernels = {.traversal = traversal_float_##CPU,                                                 \
               .numbers = numbers_float_##CPU,                                                     \
               .errors = errors_float_##CPU}},                                                     \
      {.here = AMPED_HAS_##CPU,                                                                    \
       .type = AMPED_F64,                                                                          \
       .kernels = {.traversal = traversal_double_##CPU,                                            \
                   .numbers = numbers_double_##CPU,                                                \
                   .errors = errors_double_##CPU}},
  const struct {
    bool here;
    amped_vtype type;
    amped_row_traversal_kernels kernels;
  } rows[] = {AMPED_CPU_DISPATCH(ROW)};
  size_t i = 0;
  while (!rows[i].here || rows[i].type != type)
    i++;
  return rows[i].kernels;
}
