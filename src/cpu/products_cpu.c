#include "cpu/products_cpu.h"

#include <math.h>

#include "cpu/cpu_dispatch.h"
#include "cpu/mttkrp_bundle.h"

/* Components that are multiplied together: vectors of double-doubles. */
#define LANES 8

typedef struct lanes {
  double hi[LANES], lo[LANES];
} lanes;

static inline uint64_t index_at(const void *array, amped_itype type, uint64_t i) {
  return type == AMPED_U32 ? ((const uint32_t *)array)[i] : ((const uint64_t *)array)[i];
}

AMPED_INLINE double element(const void *row, amped_vtype type, int r) {
  return type == AMPED_F32 ? (double)((const float *)row)[r] : ((const double *)row)[r];
}

/* Add components first .. first+n to `sums`; n is the constant LANES in all calls but the last. */
AMPED_INLINE void add_components(const amped_cpu_products *p, const void *const *rows, int count,
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

/* The model's value at a nonzero: rows[0] is its row of mode's factor, the others of the inputs. */
AMPED_INLINE amped_dd model_of_type(const amped_cpu_products *p, const void *const *rows, int count,
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

typedef amped_dd model_function(const amped_cpu_products *p, const void *const *rows, int count);

#define DEFINE(CPU)                                                                                \
  AMPED_TARGET_##CPU static amped_dd model_##CPU(const amped_cpu_products *p,                      \
                                                 const void *const *rows, int count) {             \
    return p->mttkrp.value_type == AMPED_F32                                                       \
               ? model_of_type(p, rows, count, AMPED_F32, AMPED_FUSED_##CPU)                       \
               : model_of_type(p, rows, count, AMPED_F64, AMPED_FUSED_##CPU);                      \
  }
AMPED_CPU_DISPATCH(DEFINE)

static model_function *find_model(void) {
#define ROW(CPU) {AMPED_HAS_##CPU, model_##CPU},
  const struct {
    bool here;
    model_function *model;
  } rows[] = {AMPED_CPU_DISPATCH(ROW)};
  size_t i = 0;
  while (!rows[i].here)
    i++;
  return rows[i].model;
}

static void sum_strip(const amped_cpu_products *p, model_function *model, uint64_t first,
                      uint64_t end, amped_products *out) {
  const amped_cpu_mttkrp *m = &p->mttkrp;
  const amped_cpu_copy *copy = m->copy;
  const amped_packing *packing = copy->packing;
  const uint64_t row_bytes = m->ld * m->value_type;
  uint64_t entry = index_at(copy->row_table, copy->index_type, first / packing->pack);
  const void *rows[AMPED_MAX_ORDER];
  *out = (amped_products){{0.0, 0.0}, {0.0, 0.0}};
  for (uint64_t k = first; k < end; k++) {
    uint64_t words[AMPED_MAX_PLANES];
    amped_packed_get(packing, (const void *const *)copy->planes, k, words);
    entry += k > first && amped_cpu_copy_begins_row(copy, k);
    rows[0] = (const char *)m->out + index_at(copy->row_list, copy->index_type, entry) * row_bytes;
    for (int i = 0; i < packing->inputs; i++)
      rows[i + 1] = (const char *)m->factors[i] +
                    amped_packed_field(words, packing->shifts[i], packing->bits[i]) * row_bytes;
    double x =
        packing->coded
            ? amped_value_get(m->dictionary, m->value_type,
                              amped_packed_field(words, packing->value_shift, packing->value_bits))
            : amped_value_get(copy->values, m->value_type, k);
    x *= p->scale;
    out->xx = amped_dd_add(out->xx, amped_dd_product(x, x));
    out->xm = amped_dd_add(out->xm, amped_dd_scale(model(p, rows, packing->inputs + 1), x));
  }
}

void amped_products_cpu(const amped_cpu_products *p, int threads, amped_products *out) {
  const amped_cpu_copy *copy = p->mttkrp.copy;
  const uint64_t nnz = copy->nnz;
  model_function *const model = find_model();
  const uint64_t step = amped_cpu_strip_nnz(copy->packing, nnz);
  const uint64_t strips = amped_cpu_strips(copy->packing, nnz);
#pragma omp parallel for num_threads(threads) schedule(dynamic)
  for (uint64_t i = 0; i < strips; i++)
    sum_strip(p, model, i * step, (i + 1) * step < nnz ? (i + 1) * step : nnz, &p->strips[i]);
  *out = (amped_products){{0.0, 0.0}, {0.0, 0.0}};
  for (uint64_t i = 0; i < strips; i++) {
    out->xx = amped_dd_add(out->xx, p->strips[i].xx);
    out->xm = amped_dd_add(out->xm, p->strips[i].xm);
  }
}
