/* Sums for an exact fit over a packed copy, on CPU cores. */
#include "cpu/sorted/products_cpu.h"

static inline uint64_t index_at(const void *array, amped_itype type, uint64_t i) {
  return type == AMPED_U32 ? ((const uint32_t *)array)[i] : ((const uint64_t *)array)[i];
}

static void sum_strip(const amped_cpu_products *p, amped_cpu_model_value *value, uint64_t first,
                      uint64_t end, amped_products *out) {
  const amped_cpu_mttkrp *m = &p->mttkrp;
  const amped_cpu_copy *copy = m->copy;
  const amped_packing *packing = copy->packing;
  const uint64_t row_bytes = m->ld * m->value_type;
  uint64_t entry = index_at(copy->row_table, copy->index_type, first / packing->pack);
  const amped_cpu_model model = {m->value_type, p->ncomps, p->weights};
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
    out->xm = amped_dd_add(out->xm, amped_dd_scale(value(&model, rows, packing->inputs + 1), x));
  }
}

void amped_products_cpu(const amped_cpu_products *p, int threads, amped_products *out) {
  const amped_cpu_copy *copy = p->mttkrp.copy;
  const uint64_t nnz = copy->nnz;
  amped_cpu_model_value *const value = amped_cpu_model_find();
  const uint64_t step = amped_cpu_strip_nnz(copy->packing, nnz);
  const uint64_t strips = amped_cpu_strips(copy->packing, nnz);
#pragma omp parallel for num_threads(threads) schedule(dynamic)
  for (uint64_t i = 0; i < strips; i++)
    sum_strip(p, value, i * step, (i + 1) * step < nnz ? (i + 1) * step : nnz, &p->strips[i]);
  *out = (amped_products){{0.0, 0.0}, {0.0, 0.0}};
  for (uint64_t i = 0; i < strips; i++) {
    out->xx = amped_dd_add(out->xx, p->strips[i].xx);
    out->xm = amped_dd_add(out->xm, p->strips[i].xm);
  }
}
