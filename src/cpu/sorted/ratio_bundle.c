/* Kernels that change a bundle's values to ratios, instantiated per processor, type and
 * sizes. */
#include "cpu/sorted/ratio_bundle.h"

#include <math.h>
#include <string.h>

#include "base/cpu_dispatch.h"

/* Rows are prefetched this many nonzeros ahead. Less than a bundle. */
#define AHEAD 32

/* Codes of values that lie in the order of nonzeros. */
#define FOUR(n) (n), (n) + 1, (n) + 2, (n) + 3
#define SIXTEEN(n) FOUR(n), FOUR((n) + 4), FOUR((n) + 8), FOUR((n) + 12)
static const uint64_t in_order[AMPED_BUNDLE] = {SIXTEEN(0), SIXTEEN(16), SIXTEEN(32), SIXTEEN(48)};

/* Natural logarithms of a bundle's positive, normal numbers, in place, within a few units in the
 * last place. Loops over arrays are vectorised, and calls of log are not. x = 2^e y, y about 1; log
 * y is a series in (y - 1) / (y + 1). */
AMPED_INLINE void take_logarithms(double *x) {
  const uint64_t root_half = UINT64_C(0x3fe6a09e667f3bcd);
  uint64_t bits[AMPED_BUNDLE];
  int32_t e[AMPED_BUNDLE];
  memcpy(bits, x, sizeof bits);
  for (int j = 0; j < AMPED_BUNDLE; j++) {
    const uint64_t biased = (bits[j] - root_half + (UINT64_C(1023) << 52)) >> 52;
    e[j] = (int32_t)biased - 1023;
    bits[j] -= (biased - 1023) << 52;
  }
  memcpy(x, bits, sizeof bits);
  for (int j = 0; j < AMPED_BUNDLE; j++) {
    const double t = (x[j] - 1.0) / (x[j] + 1.0);
    const double t2 = t * t;
    double series = 1.0 / 23.0;
    series = series * t2 + 1.0 / 21.0;
    series = series * t2 + 1.0 / 19.0;
    series = series * t2 + 1.0 / 17.0;
    series = series * t2 + 1.0 / 15.0;
    series = series * t2 + 1.0 / 13.0;
    series = series * t2 + 1.0 / 11.0;
    series = series * t2 + 1.0 / 9.0;
    series = series * t2 + 1.0 / 7.0;
    series = series * t2 + 1.0 / 5.0;
    series = series * t2 + 1.0 / 3.0;
    x[j] = (double)e[j] * 0x1.62e42fefa39efp-1 + 2.0 * (t + t * t2 * series);
  }
}

/* Vectors of 32 bytes, and of the 16 that divide every row; at any address. */
#define VECTOR(type, bytes) __attribute__((vector_size(bytes), aligned(sizeof(type)), may_alias))
typedef float wide_f32 VECTOR(float, 32);
typedef float narrow_f32 VECTOR(float, 16);
typedef double wide_f64 VECTOR(double, 32);
typedef double narrow_f64 VECTOR(double, 16);

#define VALUE float
#define NAME(x) x##_f32
#include "cpu/sorted/ratio_body.h"
#undef VALUE
#undef NAME

#define VALUE double
#define NAME(x) x##_f64
#include "cpu/sorted/ratio_body.h"
#undef VALUE
#undef NAME

/* Instances: processor x type x row length (0: any) x inputs (0: four or more). */
#define EACH(X, CPU) EACH_LD(X, CPU, f32, AMPED_F32) EACH_LD(X, CPU, f64, AMPED_F64)
#define EACH_LD(X, CPU, TYPE, V)                                                                   \
  EACH_INPUTS(X, CPU, TYPE, V, 8)                                                                  \
  EACH_INPUTS(X, CPU, TYPE, V, 16)                                                                 \
  EACH_INPUTS(X, CPU, TYPE, V, 32)                                                                 \
  EACH_INPUTS(X, CPU, TYPE, V, 64)                                                                 \
  EACH_INPUTS(X, CPU, TYPE, V, 0)
#define EACH_INPUTS(X, CPU, TYPE, V, LD)                                                           \
  X(CPU, TYPE, V, LD, 1) X(CPU, TYPE, V, LD, 2) X(CPU, TYPE, V, LD, 3) X(CPU, TYPE, V, LD, 0)

#define DEFINE(CPU, TYPE, V, LD, INPUTS)                                                           \
  AMPED_TARGET_##CPU static void ratio_##CPU##_##TYPE##_##LD##_##INPUTS(                           \
      amped_ratio_strip *s, const amped_strip *strip, amped_bundle *b,                             \
      const amped_bundle *ahead) {                                                                 \
    ratios_##TYPE(s, strip, b, ahead, LD, INPUTS);                                                 \
  }
#define DEFINE_ALL(CPU) EACH(DEFINE, CPU)
AMPED_CPU_DISPATCH(DEFINE_ALL)

amped_ratio_kernel *amped_ratio_kernel_find(amped_vtype value_type, uint64_t ld, int inputs) {
#define ROW(CPU, TYPE, V, LD, INPUTS)                                                              \
  {.here = AMPED_HAS_##CPU,                                                                        \
   .value_type = V,                                                                                \
   .ld = LD,                                                                                       \
   .inputs = INPUTS,                                                                               \
   .kernel = ratio_##CPU##_##TYPE##_##LD##_##INPUTS},
#define ROW_ALL(CPU) EACH(ROW, CPU)
  const struct {
    bool here;
    amped_vtype value_type;
    uint64_t ld;
    int inputs;
    amped_ratio_kernel *kernel;
  } rows[] = {AMPED_CPU_DISPATCH(ROW_ALL)};
  size_t i = 0;
  while (!rows[i].here || rows[i].value_type != value_type ||
         (rows[i].ld != ld && rows[i].ld != 0) || (rows[i].inputs != inputs && rows[i].inputs != 0))
    i++;
  return rows[i].kernel;
}

void amped_ratio_cpu_add(const amped_ratio_sums *strips, uint64_t count, amped_ratio_sums *sums) {
  for (uint64_t i = 0; i < count; i++) {
    sums->values += strips[i].values;
    sums->logs += strips[i].logs;
    sums->negative += strips[i].negative;
    sums->fractions += strips[i].fractions;
    sums->low += strips[i].low;
  }
}
