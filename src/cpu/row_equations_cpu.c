#include "cpu/row_equations_cpu.h"

#include <string.h>

#include "cpu/cpu_dispatch.h"

/* A product that is added to a sum is rounded once, where the processor can. */
#ifndef __clang__ /* which does so unless it is told not to */
#pragma GCC optimize("fp-contract=fast")
#endif

/* Rows of H whose sums are in registers at a time: as many as they hold, a divisor of
 * AMPED_ROW_PADDING. An instance has vectors of 64 bytes, which are two or four of the processor's
 * own. Sums of doubles have eight rows at most, half as many as floats: no fewer products are in
 * flight than the processor can begin. */
#define ROWS_avx512 16
#define ROWS_avx2 4
#define ROWS_any 2
#define MOST_ROWS 16

typedef float floats __attribute__((vector_size(64)));
typedef float loose_floats __attribute__((vector_size(64), aligned(4), may_alias));
typedef double numbers __attribute__((vector_size(64)));
typedef double loose_numbers __attribute__((vector_size(64), aligned(8), may_alias));

/* Add a vector of sums to doubles. */
AMPED_INLINE void carry_of_floats(const floats *from, double *restrict to) {
  float lanes[16];
  memcpy(lanes, from, sizeof lanes);
#pragma GCC unroll 1
  for (int q = 0; q < 16; q++)
    to[q] += (double)lanes[q];
}

AMPED_INLINE void carry_of_doubles(const numbers *from, double *to) {
  *(loose_numbers *)to += *from;
}

#define FACTOR float
#define VALUE float
#define NAME(x) x##_f32
#include "cpu/row_equations_body.h"
#undef VALUE
#undef NAME

#define VALUE double
#define NAME(x) x##_wide
#include "cpu/row_equations_body.h"
#undef FACTOR
#undef NAME

#define FACTOR double
#define NAME(x) x##_f64
#include "cpu/row_equations_body.h"
#undef FACTOR
#undef NAME

#define VECTOR numbers
#define LOOSE loose_numbers
#define SUM(x) x##_of_doubles
#include "cpu/row_sums_body.h"
#undef VALUE
#undef VECTOR
#undef LOOSE
#undef SUM

#define VALUE float
#define VECTOR floats
#define LOOSE loose_floats
#define SUM(x) x##_of_floats
#include "cpu/row_sums_body.h"

/* Instances: processor x types. Two inputs are a constant. */
#define DEFINE_PRODUCTS(CPU, NAME, VALUE)                                                          \
  AMPED_TARGET_##CPU static void products_##NAME##_##CPU(const amped_row_source *s,                \
                                                         const amped_bundle *b, uint64_t take,     \
                                                         void *products, void *targets) {          \
    if (s->inputs == 2)                                                                            \
      products_##NAME(s, b, 2, take, (VALUE *)products, (VALUE *)targets);                         \
    else                                                                                           \
      products_##NAME(s, b, s->inputs, take, (VALUE *)products, (VALUE *)targets);                 \
  }
#define DEFINE(CPU)                                                                                \
  DEFINE_PRODUCTS(CPU, f32, float)                                                                 \
  DEFINE_PRODUCTS(CPU, wide, double)                                                               \
  DEFINE_PRODUCTS(CPU, f64, double)                                                                \
  AMPED_TARGET_##CPU static void add_floats_##CPU(const void *products, const void *targets,       \
                                                  uint64_t count, amped_row_equations *e) {        \
    if (e->biased)                                                                                 \
      add_of_floats(products, targets, count, ROWS_##CPU, true, e);                                \
    else                                                                                           \
      add_of_floats(products, targets, count, ROWS_##CPU, false, e);                               \
  }                                                                                                \
  AMPED_TARGET_##CPU static void add_doubles_##CPU(const void *products, const void *targets,      \
                                                   uint64_t count, amped_row_equations *e) {       \
    if (e->biased)                                                                                 \
      add_of_doubles(products, targets, count, ROWS_##CPU > 8 ? 8 : ROWS_##CPU, true, e);          \
    else                                                                                           \
      add_of_doubles(products, targets, count, ROWS_##CPU > 8 ? 8 : ROWS_##CPU, false, e);         \
  }
AMPED_CPU_DISPATCH(DEFINE)

amped_row_kernels amped_row_kernels_find(amped_vtype factor_type, bool wide) {
#define ROW(CPU)                                                                                   \
  {AMPED_HAS_##CPU, AMPED_F32, false, {products_f32_##CPU, add_floats_##CPU}},                     \
      {AMPED_HAS_##CPU, AMPED_F32, true, {products_wide_##CPU, add_doubles_##CPU}},                \
      {AMPED_HAS_##CPU, AMPED_F64, false, {products_f64_##CPU, add_doubles_##CPU}},                \
      {AMPED_HAS_##CPU, AMPED_F64, true, {products_f64_##CPU, add_doubles_##CPU}},
  const struct {
    bool here;
    amped_vtype type;
    bool wide;
    amped_row_kernels kernels;
  } rows[] = {AMPED_CPU_DISPATCH(ROW)};
  size_t i = 0;
  while (!rows[i].here || rows[i].type != factor_type || rows[i].wide != wide)
    i++;
  return rows[i].kernels;
}

void amped_row_equations_pack(const amped_row_equations *e, uint64_t n, double *out) {
  for (uint64_t i = 0; i < n; i++)
    for (uint64_t c = 0; c <= i; c++)
      *out++ = e->products[c * e->width + i];
  for (uint64_t i = 0; i < n && e->biased; i++)
    *out++ = e->sum[i];
  *out++ = e->count;
  for (uint64_t i = 0; i < n; i++)
    *out++ = e->targets[i];
  if (e->biased)
    *out++ = e->target;
  *out = e->squares;
}

void amped_row_equations_unpack(const double *in, uint64_t n, amped_row_equations *e) {
  for (uint64_t i = 0; i < n; i++)
    for (uint64_t c = 0; c <= i; c++)
      e->products[c * e->width + i] = *in++;
  for (uint64_t i = 0; i < n && e->biased; i++)
    e->sum[i] = *in++;
  e->count = *in++;
  for (uint64_t i = 0; i < n; i++)
    e->targets[i] = *in++;
  e->target = e->biased ? *in++ : 0.0;
  e->squares = *in;
}
