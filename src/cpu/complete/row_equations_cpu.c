/* Row equations on CPU cores: instances per processor and type, and packing. */
#include "cpu/complete/row_equations_cpu.h"

#include <string.h>

#include "base/cpu_dispatch.h"

/* Allow fused multiply-add, which rounds once, on processors that have it. */
#ifndef __clang__ /* clang contracts by default */
#pragma GCC optimize("fp-contract=fast")
#endif

/* Rows of H whose sums are kept in registers at a time: what the registers hold, and a divisor of
 * AMPED_ROW_PADDING. For doubles at most half of it. */
#define ROWS_avx512 16
#define ROWS_avx2 8
#define ROWS_any 8
#define MOST_ROWS 16

/* Partial sums of targets that are kept at a time. */
#define TARGETS 8

/* Bytes of a vector. Vectors longer than the processor's would be spilled to memory. */
#define BYTES_avx512 64
#define BYTES_avx2 32
#define BYTES_any 16

#define DEFINE_VECTORS(BYTES)                                                                      \
  typedef float floats_##BYTES __attribute__((vector_size(BYTES)));                                \
  typedef float loose_floats_##BYTES __attribute__((vector_size(BYTES), aligned(4), may_alias));   \
  typedef double doubles_##BYTES __attribute__((vector_size(BYTES)));                              \
  typedef double loose_doubles_##BYTES __attribute__((vector_size(BYTES), aligned(8), may_alias));
DEFINE_VECTORS(64)
DEFINE_VECTORS(32)
DEFINE_VECTORS(16)

#define FACTOR float
#define VALUE float
#define NAME(x) x##_f32
#include "cpu/complete/row_equations_body.h"
#undef VALUE
#undef NAME

#define VALUE double
#define NAME(x) x##_wide
#include "cpu/complete/row_equations_body.h"
#undef FACTOR
#undef NAME

#define FACTOR double
#define NAME(x) x##_f64
#include "cpu/complete/row_equations_body.h"
#undef FACTOR
#undef NAME

#define VECTOR doubles_64
#define LOOSE loose_doubles_64
#define SUM(x) x##_of_doubles_64
#include "cpu/complete/row_sums_body.h"
#undef VECTOR
#undef LOOSE
#undef SUM

#define VECTOR doubles_32
#define LOOSE loose_doubles_32
#define SUM(x) x##_of_doubles_32
#include "cpu/complete/row_sums_body.h"
#undef VECTOR
#undef LOOSE
#undef SUM

#define VECTOR doubles_16
#define LOOSE loose_doubles_16
#define SUM(x) x##_of_doubles_16
#include "cpu/complete/row_sums_body.h"
#undef VECTOR
#undef LOOSE
#undef SUM

#undef VALUE
#define VALUE float
#define VECTOR floats_64
#define LOOSE loose_floats_64
#define SUM(x) x##_of_floats_64
#include "cpu/complete/row_sums_body.h"
#undef VECTOR
#undef LOOSE
#undef SUM

#define VECTOR floats_32
#define LOOSE loose_floats_32
#define SUM(x) x##_of_floats_32
#include "cpu/complete/row_sums_body.h"
#undef VECTOR
#undef LOOSE
#undef SUM

#define VECTOR floats_16
#define LOOSE loose_floats_16
#define SUM(x) x##_of_floats_16
#include "cpu/complete/row_sums_body.h"
#undef VECTOR
#undef LOOSE
#undef SUM

#undef VALUE

/* Instances: processor x types. Two inputs, the most common case, are a constant. */
#define DEFINE_PRODUCTS(CPU, NAME, VALUE)                                                          \
  AMPED_TARGET_##CPU static void products_##NAME##_##CPU(const amped_row_source *s,                \
                                                         const amped_bundle *b, uint64_t take,     \
                                                         void *products, void *targets) {          \
    if (s->inputs == 2)                                                                            \
      products_##NAME(s, b, 2, take, (VALUE *)products, (VALUE *)targets);                         \
    else                                                                                           \
      products_##NAME(s, b, s->inputs, take, (VALUE *)products, (VALUE *)targets);                 \
  }
#define DEFINE_ADD(CPU, TYPE, VALUE, BYTES, ROWS)                                                  \
  AMPED_TARGET_##CPU static void add_##TYPE##_##CPU(const void *products,                          \
                                                    const amped_row_terms *terms, uint64_t count,  \
                                                    amped_row_equations *e) {                      \
    if (terms->weights != NULL)                                                                    \
      ADD(TYPE, BYTES)((const VALUE *)products, terms, count, ROWS, true, true, e);                \
    else if (e->biased)                                                                            \
      ADD(TYPE, BYTES)((const VALUE *)products, terms, count, ROWS, true, false, e);               \
    else                                                                                           \
      ADD(TYPE, BYTES)((const VALUE *)products, terms, count, ROWS, false, false, e);              \
  }
#define ADD(TYPE, BYTES) ADD_OF(TYPE, BYTES)
#define ADD_OF(TYPE, BYTES) add_of_##TYPE##_##BYTES
#define DEFINE(CPU)                                                                                \
  DEFINE_PRODUCTS(CPU, f32, float)                                                                 \
  DEFINE_PRODUCTS(CPU, wide, double)                                                               \
  DEFINE_PRODUCTS(CPU, f64, double)                                                                \
  DEFINE_ADD(CPU, floats, float, BYTES_##CPU, ROWS_##CPU)                                          \
  DEFINE_ADD(CPU, doubles, double, BYTES_##CPU, 8)
AMPED_CPU_DISPATCH(DEFINE)

amped_row_kernels amped_row_kernels_find(amped_vtype factor_type, bool wide) {
#define ROW(CPU)                                                                                   \
  {.here = AMPED_HAS_##CPU,                                                                        \
   .type = AMPED_F32,                                                                              \
   .wide = false,                                                                                  \
   .kernels = {.products = products_f32_##CPU, .add = add_floats_##CPU}},                          \
      {.here = AMPED_HAS_##CPU,                                                                    \
       .type = AMPED_F32,                                                                          \
       .wide = true,                                                                               \
       .kernels = {.products = products_wide_##CPU, .add = add_doubles_##CPU}},                    \
      {.here = AMPED_HAS_##CPU,                                                                    \
       .type = AMPED_F64,                                                                          \
       .wide = false,                                                                              \
       .kernels = {.products = products_f64_##CPU, .add = add_doubles_##CPU}},                     \
      {.here = AMPED_HAS_##CPU,                                                                    \
       .type = AMPED_F64,                                                                          \
       .wide = true,                                                                               \
       .kernels = {.products = products_f64_##CPU, .add = add_doubles_##CPU}},
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

/* --- stored equations --------------------------------------------------------------------------*/

/* Apply EACH to every number, in packing order. */
#define TRAVERSAL(EACH)                                                                            \
  for (uint64_t i = 0; i < n; i++)                                                                 \
    for (uint64_t c = 0; c <= i; c++)                                                              \
      EACH(e->products[c * e->width + i]);                                                         \
  for (uint64_t i = 0; i < n && e->biased; i++)                                                    \
    EACH(e->sum[i]);                                                                               \
  EACH(e->count);                                                                                  \
  for (uint64_t i = 0; i < n; i++)                                                                 \
    EACH(e->targets[i]);                                                                           \
  if (e->biased)                                                                                   \
    EACH(e->target);                                                                               \
  EACH(e->squares)

#define RECALL(x) ((x) += keep * (double)*at++)
#define KEEP_FLOAT(x) (*at++ = (float)(x))
#define KEEP_DOUBLE(x) (*at++ = (x))

void amped_row_equations_recall(const void *kept, amped_vtype type, double keep, uint64_t n,
                                amped_row_equations *e) {
  if (type == AMPED_F32) {
    const float *at = kept;
    TRAVERSAL(RECALL);
  } else {
    const double *at = kept;
    TRAVERSAL(RECALL);
  }
}

void amped_row_equations_keep(const amped_row_equations *e, uint64_t n, amped_vtype type,
                              void *kept) {
  if (type == AMPED_F32) {
    float *at = kept;
    TRAVERSAL(KEEP_FLOAT);
  } else {
    double *at = kept;
    TRAVERSAL(KEEP_DOUBLE);
  }
}
