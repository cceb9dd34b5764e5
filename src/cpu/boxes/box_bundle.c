/* Kernels that add up a bundle of a box copy, instantiated per processor, types and sizes. */
#include "cpu/boxes/box_bundle.h"

#include "base/cpu_dispatch.h"

/* Arguments of the functions that add up a bundle, passed by value. All functions are inlined into
 * the instances at the end of the file, whose constants unroll the loops and whose target sets the
 * vector length. */
typedef struct box_work {
  const amped_box_shape *shape;
  const amped_box_bundle *b;
  const amped_box_bundle *ahead; /* the bundle after b */
  /* Copies of b's members, which the compiler then knows to be unchanged by stores: */
  const uintptr_t *rows[AMPED_MAX_ORDER]; /* [inputs] */
  const void *values;
  const uint64_t *codes;
  /* Compile-time constants of the instance: */
  uint64_t ld;  /* elements of a row */
  int inputs;   /* 0: shape->inputs, four or more */
  bool runs;    /* add up neighbours with one sum first (amped_box_kernel_find) */
  bool fetches; /* shape->fetches */
} box_work;

/* Rows are prefetched this many nonzeros ahead. Less than a bundle. */
#define AHEAD 32

/* BEGIN and END of a run of nonzeros. If sums have the values' type, they are loaded and stored
 * (LOAD, STORE). Else a run starts at zero and its total is added to them (ZERO, ADD). */
#define LOAD(sums, TYPE) (sums)
#define STORE(sums, added, TYPE) (added)
#define ZERO(sums, TYPE)                                                                           \
  (TYPE) {                                                                                         \
    0                                                                                              \
  }
#define ADD(sums, added, TYPE) ((sums) + __builtin_convertvector(added, TYPE))

#define VALUE float
#define SUM float
#define BEGIN LOAD
#define END STORE
#define NAME(x) x##_f32_f32
#include "cpu/boxes/box_bundle_body.h"
#undef VALUE
#undef SUM
#undef NAME

#define VALUE double
#define SUM double
#define NAME(x) x##_f64_f64
#include "cpu/boxes/box_bundle_body.h"
#undef VALUE
#undef BEGIN
#undef END
#undef NAME

#define VALUE float
#define BEGIN ZERO
#define END ADD
#define NAME(x) x##_f32_f64
#include "cpu/boxes/box_bundle_body.h"

/* Instances: processor x types x row length (0: any) x inputs (0: four or more) x runs. An x86
 * processor without AVX2 is old and gets only the general instances. */
#if defined __x86_64__ && !defined __SANITIZE_ADDRESS__
#define LDS_avx512 EACH_LD
#define LDS_avx2 EACH_LD
#define LDS_any ANY_LD
#else
#define LDS_any EACH_LD
#endif
#define EACH_TYPE(X, CPU, LDS)                                                                     \
  LDS(X, CPU, f32_f32, AMPED_F32, AMPED_F32)                                                       \
  LDS(X, CPU, f32_f64, AMPED_F32, AMPED_F64)                                                       \
  LDS(X, CPU, f64_f64, AMPED_F64, AMPED_F64)
#define EACH_LD(X, CPU, TYPES, V, S)                                                               \
  TWO_OR_THREE(X, CPU, TYPES, V, S, 16)                                                            \
  TWO_OR_THREE(X, CPU, TYPES, V, S, 32)                                                            \
  TWO_OR_THREE(X, CPU, TYPES, V, S, 64)                                                            \
  ANY_LD(X, CPU, TYPES, V, S)
#define ANY_LD(X, CPU, TYPES, V, S)                                                                \
  X(CPU, TYPES, V, S, 0, 1, 0)                                                                     \
  X(CPU, TYPES, V, S, 0, 1, 1)                                                                     \
  TWO_OR_THREE(X, CPU, TYPES, V, S, 0)                                                             \
  X(CPU, TYPES, V, S, 0, 0, 0)                                                                     \
  X(CPU, TYPES, V, S, 0, 0, 1)
#define TWO_OR_THREE(X, CPU, TYPES, V, S, LD)                                                      \
  X(CPU, TYPES, V, S, LD, 2, 0)                                                                    \
  X(CPU, TYPES, V, S, LD, 2, 1)                                                                    \
  X(CPU, TYPES, V, S, LD, 3, 0)                                                                    \
  X(CPU, TYPES, V, S, LD, 3, 1)

#define DEFINE(CPU, TYPES, V, S, LD, INPUTS, RUNS)                                                 \
  AMPED_TARGET_##CPU static void box_##CPU##_##TYPES##_##LD##_##INPUTS##_##RUNS(                   \
      const amped_box_shape *shape, const amped_box_bundle *b, const amped_box_bundle *ahead,      \
      uint64_t which) {                                                                            \
    box_work w = {                                                                                 \
        .shape = shape, .b = b, .ahead = ahead, .ld = LD, .inputs = INPUTS, .runs = RUNS};         \
    if (shape->fetches) {                                                                          \
      w.fetches = true;                                                                            \
      bundle_##TYPES(w, which);                                                                    \
    } else {                                                                                       \
      w.fetches = false;                                                                           \
      bundle_##TYPES(w, which);                                                                    \
    }                                                                                              \
  }
#define DEFINE_ALL(CPU) EACH_TYPE(DEFINE, CPU, LDS_##CPU)
AMPED_CPU_DISPATCH(DEFINE_ALL)

amped_box_kernel *amped_box_kernel_find(amped_vtype value_type, amped_vtype sum_type, uint64_t ld,
                                        int inputs, bool runs) {
#define ROW(CPU, TYPES, V, S, LD, INPUTS, RUNS)                                                    \
  {.here = AMPED_HAS_##CPU,                                                                        \
   .value_type = V,                                                                                \
   .sum_type = S,                                                                                  \
   .ld = LD,                                                                                       \
   .inputs = INPUTS,                                                                               \
   .runs = RUNS,                                                                                   \
   .kernel = box_##CPU##_##TYPES##_##LD##_##INPUTS##_##RUNS},
#define ROW_ALL(CPU) EACH_TYPE(ROW, CPU, LDS_##CPU)
  const struct {
    bool here;
    amped_vtype value_type, sum_type;
    uint64_t ld;
    int inputs;
    bool runs;
    amped_box_kernel *kernel;
  } rows[] = {AMPED_CPU_DISPATCH(ROW_ALL)};
  size_t i = 0;
  while (!rows[i].here || rows[i].value_type != value_type || rows[i].sum_type != sum_type ||
         rows[i].runs != runs || (rows[i].ld != ld && rows[i].ld != 0) ||
         (rows[i].inputs != inputs && rows[i].inputs != 0))
    i++;
  return rows[i].kernel;
}
