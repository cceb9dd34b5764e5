/* Sums for an exact residual over the cells of a slab, on CPU cores: of x x, and of x times the
 * model's value, in double-double.
 *
 * A fibre is a run of cells along the fastest mode. Its inner products with the components are
 * summed first, then multiplied by the weights and the other modes' rows. The order of additions
 * depends on the sizes only. */
#ifndef AMPED_DENSE_PRODUCTS_CPU_H
#define AMPED_DENSE_PRODUCTS_CPU_H

#include "backend/backend.h"

/* Arguments. Modes are in the order of memory, slowest first. */
typedef struct amped_dense_products {
  const void *cells;
  amped_cell_type type;
  int order;
  uint64_t dims[AMPED_MAX_ORDER];
  const void *factors[AMPED_MAX_ORDER]; /* rows in index order, ld elements each */
  amped_vtype value_type;               /* type of the factors */
  int ncomps;
  uint64_t ld;
  double scale; /* scale of cells, a power of two */
  const double *weights;
} amped_dense_products;

/* Arguments of this plan's type, order and components. The caller adds cells, dims and factors. */
static inline amped_dense_products amped_dense_products_of(const amped_plan *plan, double scale,
                                                           const double *weights) {
  return (amped_dense_products){.type = plan->dense.type,
                                .order = plan->order,
                                .value_type = plan->value_type,
                                .ncomps = plan->ncomps,
                                .ld = plan->ld,
                                .scale = scale,
                                .weights = weights};
}

amped_status amped_dense_products_cpu(const amped_dense_products *p, int threads,
                                      amped_products *out);

#endif
