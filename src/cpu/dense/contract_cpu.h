/* Contraction of a dense tensor's cells on CPU cores: T = X with some modes summed away, each times
 * its factor.
 *
 * The cells are a row-major array lead x mid x trail, in their file's type. mid is the product of
 * the contracted modes, which are adjacent in memory:
 *
 *   T[l][t][r] = sum over k of X[l][k][t] * A[k][r],   A[k] = product of the contracted modes' rows
 *
 * X is read once, and converted in a core's own cache if its type is not the values' type. A is
 * computed one block of rows at a time. Floats are summed in runs of at most RUN terms, runs in
 * blocks, and blocks in double. An element's error is therefore below 1e-5 of the sum of |x a|, for
 * any size. Any number of threads gives the same bits. */
#ifndef AMPED_CONTRACT_CPU_H
#define AMPED_CONTRACT_CPU_H

#include "base/types.h"
#include "tensor/cell_type.h"

typedef struct amped_contraction {
  const void *cells;
  amped_cell_type type;
  uint64_t lead, mid, trail;
  int inputs;                           /* number of contracted modes, at least 1; slowest first */
  const void *factors[AMPED_MAX_ORDER]; /* rows in index order, ld elements each */
  uint64_t dims[AMPED_MAX_ORDER];       /* their product is mid */
  amped_vtype value_type;               /* type of factors and T */
  int ncomps;
  uint64_t ld;
  void *result; /* T: lead x trail x ncomps */
} amped_contraction;

/* Bytes of workspace for this number of threads, in whole cache lines. Depends on sizes and types
 * only; fewer components never take more. */
uint64_t amped_contract_bytes(const amped_contraction *c, int threads);

/* Compute c->result. workspace must begin at a cache line. Cannot fail. */
void amped_contract_cpu(const amped_contraction *c, int threads, void *workspace);

#endif
