/* Kernels that add up a bundle of a sorted copy, instantiated per processor, type and sizes. */
#include "cpu/sorted/mttkrp_bundle.h"

#include <math.h>
#include <string.h>

#include "base/cpu_dispatch.h"

/* Output row that the strip is working on. All functions are inlined into the instances at the end
 * of the file, whose constants unroll the loops and whose target sets the vector length. */
AMPED_INLINE uint64_t row_of(const amped_strip *strip) {
  return strip->index_type == AMPED_U32 ? ((const uint32_t *)strip->row_list)[strip->entry]
                                        : ((const uint64_t *)strip->row_list)[strip->entry];
}

/* Arguments of the functions that add up a bundle, passed by value. */
typedef struct bundle_work {
  const amped_strip *strip;
  const amped_bundle *b;
  const amped_bundle *ahead; /* the bundle after b */
  /* Compile-time constants of the instance: */
  uint64_t ld;  /* elements of a row */
  int inputs;   /* 0: strip->inputs, four or more */
  bool reuse;   /* see amped_bundle_kernel_find */
  bool fused;   /* fma is an instruction */
  bool fetches; /* strip->fetches > 0 */
  /* The current columns, c0 .. c0 + width: */
  uint64_t c0;
  int width;
} bundle_work;

/* Rows are prefetched this many nonzeros ahead. Less than a bundle. */
#define AHEAD 32

#define VALUE float
#define NAME(x) x##_f32
#define FMA(a, b, c) (fused ? __builtin_fmaf((a), (b), (c)) : (a) * (b) + (c))
#include "cpu/sorted/mttkrp_bundle_body.h"
#undef VALUE
#undef NAME
#undef FMA
#undef TILE

#define VALUE double
#define NAME(x) x##_f64
#define FMA(a, b, c) (fused ? __builtin_fma((a), (b), (c)) : (a) * (b) + (c))
#include "cpu/sorted/mttkrp_bundle_body.h"
#undef VALUE
#undef NAME
#undef FMA
#undef TILE

/* Instances: processor x type x row length (0: any) x inputs (0: four or more) x reuse. A matrix
 * has one input, any row length and no reuse. An x86 processor without AVX2 is old and gets only
 * the general instances. */
#if defined __x86_64__ && !defined __SANITIZE_ADDRESS__
#define LDS_avx512 EACH_LD
#define LDS_avx2 EACH_LD
#define LDS_any ANY_LD
#else
#define LDS_any EACH_LD
#endif
#define EACH_TYPE(X, CPU, LDS) LDS(X, CPU, f32, AMPED_F32) LDS(X, CPU, f64, AMPED_F64)
#define EACH_LD(X, CPU, TYPE, V)                                                                   \
  TWO_OR_THREE(X, CPU, TYPE, V, 8)                                                                 \
  TWO_OR_THREE(X, CPU, TYPE, V, 16)                                                                \
  TWO_OR_THREE(X, CPU, TYPE, V, 32)                                                                \
  TWO_OR_THREE(X, CPU, TYPE, V, 64)                                                                \
  TWO_OR_THREE(X, CPU, TYPE, V, 128)                                                               \
  ANY_LD(X, CPU, TYPE, V)
#define ANY_LD(X, CPU, TYPE, V)                                                                    \
  X(CPU, TYPE, V, 0, 1, 0)                                                                         \
  TWO_OR_THREE(X, CPU, TYPE, V, 0)                                                                 \
  X(CPU, TYPE, V, 0, 0, 0)                                                                         \
  X(CPU, TYPE, V, 0, 0, 1)
#define TWO_OR_THREE(X, CPU, TYPE, V, LD)                                                          \
  X(CPU, TYPE, V, LD, 2, 0)                                                                        \
  X(CPU, TYPE, V, LD, 2, 1)                                                                        \
  X(CPU, TYPE, V, LD, 3, 0)                                                                        \
  X(CPU, TYPE, V, LD, 3, 1)

#define DEFINE(CPU, TYPE, V, LD, INPUTS, REUSE)                                                    \
  AMPED_TARGET_##CPU static void bundle_##CPU##_##TYPE##_##LD##_##INPUTS##_##REUSE(                \
      amped_strip *strip, const amped_bundle *b, const amped_bundle *ahead) {                      \
    bundle_work w = {.b = b,                                                                       \
                     .ahead = ahead,                                                               \
                     .ld = LD,                                                                     \
                     .inputs = INPUTS,                                                             \
                     .reuse = REUSE,                                                               \
                     .fused = AMPED_FUSED_##CPU};                                                  \
    if (strip->fetches > 0) {                                                                      \
      w.fetches = true;                                                                            \
      bundle_##TYPE(strip, w);                                                                     \
    } else {                                                                                       \
      w.fetches = false;                                                                           \
      bundle_##TYPE(strip, w);                                                                     \
    }                                                                                              \
  }
#define DEFINE_ALL(CPU) EACH_TYPE(DEFINE, CPU, LDS_##CPU)
AMPED_CPU_DISPATCH(DEFINE_ALL)

amped_bundle_kernel *amped_bundle_kernel_find(amped_vtype value_type, uint64_t ld, int inputs,
                                              bool reuse) {
#define ROW(CPU, TYPE, V, LD, INPUTS, REUSE)                                                       \
  {.here = AMPED_HAS_##CPU,                                                                        \
   .value_type = V,                                                                                \
   .ld = LD,                                                                                       \
   .inputs = INPUTS,                                                                               \
   .reuse = REUSE,                                                                                 \
   .kernel = bundle_##CPU##_##TYPE##_##LD##_##INPUTS##_##REUSE},
#define ROW_ALL(CPU) EACH_TYPE(ROW, CPU, LDS_##CPU)
  const struct {
    bool here;
    amped_vtype value_type;
    uint64_t ld;
    int inputs;
    bool reuse;
    amped_bundle_kernel *kernel;
  } rows[] = {AMPED_CPU_DISPATCH(ROW_ALL)};
  size_t i = 0;
  while (!rows[i].here || rows[i].value_type != value_type ||
         rows[i].reuse != (reuse && inputs > 1) || (rows[i].ld != ld && rows[i].ld != 0) ||
         (rows[i].inputs != inputs && rows[i].inputs != 0))
    i++;
  return rows[i].kernel;
}
