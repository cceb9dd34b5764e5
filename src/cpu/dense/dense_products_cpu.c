/* Sums for an exact residual over a dense slab, in double-double. */
#include "cpu/dense/dense_products_cpu.h"

#include <math.h>

#include "base/mem.h"
#include "base/cpu_dispatch.h"

/* Approximate cells of a strip. A thread sums one strip at a time. */
#define STRIP_CELLS (UINT64_C(1) << 16)

/* Cells that are converted to double at a time. */
#define PIECE UINT64_C(256)

/* One double-double per component. */
typedef struct components {
  double hi[AMPED_MAX_NCOMPS], lo[AMPED_MAX_NCOMPS];
} components;

AMPED_INLINE double element(const void *rows, amped_vtype type, uint64_t i) {
  return type == AMPED_F32 ? (double)((const float *)rows)[i] : ((const double *)rows)[i];
}

/* out = weights times the rows of all modes except the fastest. */
AMPED_INLINE void multiply_rows(const amped_dense_products *p, uint64_t fibre, amped_vtype type,
                                bool fused, components *out) {
  const uint64_t n = (uint64_t)p->ncomps;
  for (uint64_t r = 0; r < n; r++) {
    out->hi[r] = p->weights[r];
    out->lo[r] = 0.0;
  }
  for (int a = p->order - 2; a >= 0; a--) {
    const uint64_t row = fibre % p->dims[a] * p->ld;
    fibre /= p->dims[a];
    for (uint64_t r = 0; r < n; r++) {
      amped_dd x = {out->hi[r], out->lo[r]};
      x = amped_dd_scale_by(x, element(p->factors[a], type, row + r), fused);
      out->hi[r] = x.hi;
      out->lo[r] = x.lo;
    }
  }
}

/* sums += x times a row of the fastest mode. */
AMPED_INLINE void add_cell(const amped_dense_products *p, double x, uint64_t index,
                           amped_vtype type, bool fused, components *restrict sums) {
  const uint64_t n = (uint64_t)p->ncomps;
  const void *const factor = p->factors[p->order - 1];
  for (uint64_t r = 0; r < n; r++) {
    const amped_dd sum = {sums->hi[r], sums->lo[r]};
    const amped_dd product =
        amped_dd_product_by(x, element(factor, type, index * p->ld + r), fused);
    const amped_dd all = amped_dd_add(sum, product);
    sums->hi[r] = all.hi;
    sums->lo[r] = all.lo;
  }
}

AMPED_INLINE void add_fibre(const amped_dense_products *p, uint64_t fibre, amped_vtype type,
                            bool fused, amped_products *out) {
  const uint64_t length = p->dims[p->order - 1];
  const uint64_t n = (uint64_t)p->ncomps;
  components sums;
  components rows;
  double cells[PIECE];
  for (uint64_t r = 0; r < n; r++)
    sums.hi[r] = sums.lo[r] = 0.0;
  for (uint64_t first = 0; first < length; first += PIECE) {
    const uint64_t count = length - first < PIECE ? length - first : PIECE;
    amped_cells_get(p->cells, p->type, fibre * length + first, count, cells);
    for (uint64_t i = 0; i < count; i++) {
      const double x = cells[i] * p->scale;
      out->xx = amped_dd_add(out->xx, amped_dd_product_by(x, x, fused));
      add_cell(p, x, first + i, type, fused, &sums);
    }
  }
  multiply_rows(p, fibre, type, fused, &rows);
  for (uint64_t r = 0; r < n; r++)
    out->xm = amped_dd_add(out->xm, amped_dd_multiply((amped_dd){sums.hi[r], sums.lo[r]},
                                                      (amped_dd){rows.hi[r], rows.lo[r]}));
}

typedef void fibre_function(const amped_dense_products *p, uint64_t fibre, amped_products *out);

#define DEFINE(CPU)                                                                                \
  AMPED_TARGET_##CPU static void fibre_##CPU(const amped_dense_products *p, uint64_t fibre,        \
                                             amped_products *out) {                                \
    if (p->value_type == AMPED_F32)                                                                \
      add_fibre(p, fibre, AMPED_F32, AMPED_FUSED_##CPU, out);                                      \
    else                                                                                           \
      add_fibre(p, fibre, AMPED_F64, AMPED_FUSED_##CPU, out);                                      \
  }
AMPED_CPU_DISPATCH(DEFINE)

static fibre_function *find_fibre(void) {
#define ROW(CPU) {.here = AMPED_HAS_##CPU, .fibre = fibre_##CPU},
  const struct {
    bool here;
    fibre_function *fibre;
  } rows[] = {AMPED_CPU_DISPATCH(ROW)};
  size_t i = 0;
  while (!rows[i].here)
    i++;
  return rows[i].fibre;
}

amped_status amped_dense_products_cpu(const amped_dense_products *p, int threads,
                                      amped_products *out) {
  fibre_function *const fibre = find_fibre();
  const uint64_t length = p->dims[p->order - 1];
  const uint64_t step = length < STRIP_CELLS && length > 0 ? STRIP_CELLS / length : 1;
  uint64_t fibres = 1;
  amped_products *strips = NULL;
  for (int a = 0; a + 1 < p->order; a++)
    fibres *= p->dims[a];
  const uint64_t count = amped_ceil_div(fibres, step);
  AMPED_TRY(amped_calloc(&strips, count, sizeof *strips, "the sums of the fit"));
#pragma omp parallel for num_threads(threads) schedule(dynamic)
  for (uint64_t i = 0; i < count; i++)
    for (uint64_t f = i * step; f < (i + 1) * step && f < fibres; f++)
      fibre(p, f, &strips[i]);
  *out = (amped_products){{0.0, 0.0}, {0.0, 0.0}};
  for (uint64_t i = 0; i < count; i++) {
    out->xx = amped_dd_add(out->xx, strips[i].xx);
    out->xm = amped_dd_add(out->xm, strips[i].xm);
  }
  amped_free(strips);
  return AMPED_OK;
}
