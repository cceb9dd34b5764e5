/* Products: sums over a packed copy of x x and of x m, where m is the model's value at x. Twin of
 * cuda/sorted/products_cuda.h.
 *
 * Threads take strips of nonzeros in turn. The sums of strips are added in their order, so any
 * number of threads gives the same bits. */
#ifndef AMPED_PRODUCTS_CPU_H
#define AMPED_PRODUCTS_CPU_H

#include "cpu/factor/model_cpu.h"
#include "cpu/sorted/mttkrp_cpu.h"

typedef struct amped_cpu_products {
  amped_cpu_mttkrp mttkrp; /* copy, types, dictionary, factors, ld; out is read, not written */
  int ncomps;
  double scale;
  const double *weights;  /* [ncomps] */
  amped_products *strips; /* workspace: [amped_cpu_strips(nnz)] */
} amped_cpu_products;

/* *out = the sums, with values multiplied by scale. Cannot fail. */
void amped_products_cpu(const amped_cpu_products *p, int threads, amped_products *out);

#endif
