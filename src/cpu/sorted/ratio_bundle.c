/* Kernels that change a bundle's values to ratios, instantiated per processor, type and inputs. */
#include "cpu/sorted/ratio_bundle.h"

#include <math.h>

#include "cpu/device/cpu_dispatch.h"

/* Rows are prefetched this many nonzeros ahead. Less than a bundle. */
#define AHEAD 32

/* Codes of values that lie in the order of nonzeros. */
#define FOUR(n) (n), (n) + 1, (n) + 2, (n) + 3
#define SIXTEEN(n) FOUR(n), FOUR((n) + 4), FOUR((n) + 8), FOUR((n) + 12)
static const uint64_t in_order[AMPED_BUNDLE] = {SIXTEEN(0), SIXTEEN(16), SIXTEEN(32), SIXTEEN(48)};

#define VALUE float
#define LANES 16
#define NAME(x) x##_f32
#include "cpu/sorted/ratio_body.h"
#undef VALUE
#undef LANES
#undef NAME

#define VALUE double
#define LANES 8
#define NAME(x) x##_f64
#include "cpu/sorted/ratio_body.h"
#undef VALUE
#undef LANES
#undef NAME

/* Instances: processor x type x inputs (0: four or more). */
#define EACH(X, CPU)                                                                               \
  EACH_INPUTS(X, CPU, f32, AMPED_F32)                                                              \
  EACH_INPUTS(X, CPU, f64, AMPED_F64)
#define EACH_INPUTS(X, CPU, TYPE, V)                                                               \
  X(CPU, TYPE, V, 1) X(CPU, TYPE, V, 2) X(CPU, TYPE, V, 3) X(CPU, TYPE, V, 0)

#define DEFINE(CPU, TYPE, V, INPUTS)                                                               \
  AMPED_TARGET_##CPU static void ratio_##CPU##_##TYPE##_##INPUTS(                                  \
      amped_ratio_strip *s, const amped_strip *strip, amped_bundle *b,                             \
      const amped_bundle *ahead) {                                                                 \
    ratios_##TYPE(s, strip, b, ahead, INPUTS);                                                     \
  }
#define DEFINE_ALL(CPU) EACH(DEFINE, CPU)
AMPED_CPU_DISPATCH(DEFINE_ALL)

amped_ratio_kernel *amped_ratio_kernel_find(amped_vtype value_type, int inputs) {
#define ROW(CPU, TYPE, V, INPUTS)                                                                  \
  {.here = AMPED_HAS_##CPU,                                                                        \
   .value_type = V,                                                                                \
   .inputs = INPUTS,                                                                               \
   .kernel = ratio_##CPU##_##TYPE##_##INPUTS},
#define ROW_ALL(CPU) EACH(ROW, CPU)
  const struct {
    bool here;
    amped_vtype value_type;
    int inputs;
    amped_ratio_kernel *kernel;
  } rows[] = {AMPED_CPU_DISPATCH(ROW_ALL)};
  size_t i = 0;
  while (!rows[i].here || rows[i].value_type != value_type ||
         (rows[i].inputs != inputs && rows[i].inputs != 0))
    i++;
  return rows[i].kernel;
}

void amped_ratio_cpu_add(const amped_ratio_sums *strips, uint64_t count, amped_ratio_sums *sums) {
  for (uint64_t i = 0; i < count; i++) {
    sums->values += strips[i].values;
    sums->logs += strips[i].logs;
    sums->negative += strips[i].negative;
    sums->fractions += strips[i].fractions;
  }
}
