/* The model's value at a nonzero in double-double, on CPU cores. */
#include "cpu/factor/model_cpu.h"

#include "base/cpu_dispatch.h"

/* Components that are multiplied together, in vectors of double-doubles. */
#define LANES 8

typedef struct lanes {
  double hi[LANES], lo[LANES];
} lanes;

AMPED_INLINE double element(const void *row, amped_vtype type, int r) {
  return type == AMPED_F32 ? (double)((const float *)row)[r] : ((const double *)row)[r];
}

/* Add components first .. first + n to `sums`. n is the constant LANES, except in the last call. */
AMPED_INLINE void add_components(const amped_cpu_model *p, const void *const *rows, int count,
                                 int first, int n, amped_vtype type, bool fused, lanes *sums) {
  lanes product;
  for (int j = 0; j < n; j++) {
    amped_dd x =
        amped_dd_product_by(p->weights[first + j], element(rows[0], type, first + j), fused);
    product.hi[j] = x.hi;
    product.lo[j] = x.lo;
  }
  for (int i = 1; i < count; i++)
    for (int j = 0; j < n; j++) {
      amped_dd x = {product.hi[j], product.lo[j]};
      x = amped_dd_scale_by(x, element(rows[i], type, first + j), fused);
      product.hi[j] = x.hi;
      product.lo[j] = x.lo;
    }
  for (int j = 0; j < n; j++) {
    amped_dd x = {product.hi[j], product.lo[j]};
    amped_dd sum = {sums->hi[j], sums->lo[j]};
    sum = amped_dd_add(sum, x);
    sums->hi[j] = sum.hi;
    sums->lo[j] = sum.lo;
  }
}

AMPED_INLINE amped_dd model_of_type(const amped_cpu_model *p, const void *const *rows, int count,
                                    amped_vtype type, bool fused) {
  lanes sums = {{0.0}, {0.0}};
  int first = 0;
  for (; first + LANES <= p->ncomps; first += LANES)
    add_components(p, rows, count, first, LANES, type, fused, &sums);
  if (first < p->ncomps)
    add_components(p, rows, count, first, p->ncomps - first, type, fused, &sums);
  amped_dd sum = {sums.hi[0], sums.lo[0]};
  for (int j = 1; j < LANES; j++)
    sum = amped_dd_add(sum, (amped_dd){sums.hi[j], sums.lo[j]});
  return sum;
}

#define DEFINE(CPU)                                                                                \
  AMPED_TARGET_##CPU static amped_dd model_##CPU(const amped_cpu_model *p,                         \
                                                 const void *const *rows, int count) {             \
    return p->value_type == AMPED_F32                                                              \
               ? model_of_type(p, rows, count, AMPED_F32, AMPED_FUSED_##CPU)                       \
               : model_of_type(p, rows, count, AMPED_F64, AMPED_FUSED_##CPU);                      \
  }
AMPED_CPU_DISPATCH(DEFINE)

amped_cpu_model_value *amped_cpu_model_find(void) {
#define ROW(CPU) {.here = AMPED_HAS_##CPU, .model = model_##CPU},
  const struct {
    bool here;
    amped_cpu_model_value *model;
  } rows[] = {AMPED_CPU_DISPATCH(ROW)};
  size_t i = 0;
  while (!rows[i].here)
    i++;
  return rows[i].model;
}
