/* Contraction of a dense tensor's cells on CPU cores: T = X with some modes summed away, each times
 * its factor.
 *
 * The cells are a row-major array lead x mid x trail, of their file's type; mid is the product of
 * the contracted modes, which lie together in memory:
 *
 *   T[l][t][r] = sum over k of X[l][k][t] * A[k][r],   A[k] = product of the contracted modes' rows
 *
 * X is read once, and widened in a core's own cache where its type is not that of values. Of A, a
 * block of rows is made at a time. Floats are added up in runs of at most RUN terms, and these in
 * blocks; blocks are added up in double. So an element is off by less than 1e-5 of the sum of
 * |x a|, for any size. Any number of threads gives the same bits. */
#ifndef AMPED_CONTRACT_CPU_H
#define AMPED_CONTRACT_CPU_H

#include "base/types.h"
#include "tensor/cell_type.h"

typedef struct amped_contraction {
  const void *cells;
  amped_cell_type type;
  uint64_t lead, mid, trail;
  int inputs;                           /* contracted modes, at least 1, the slowest first */
  const void *factors[AMPED_MAX_ORDER]; /* rows in the order of indices, ld elements each */
  uint64_t dims[AMPED_MAX_ORDER];       /* their product is mid */
  amped_vtype value_type;               /* of factors and T */
  int ncomps;
  uint64_t ld;
  void *result; /* T: lead x trail x ncomps */
} amped_contraction;

/* Bytes of workspace that a contraction takes with so many threads, whole cache lines. Sizes and
 * types alone matter; fewer components never take more. */
uint64_t amped_contract_bytes(const amped_contraction *c, int threads);

/* workspace: begins at a cache line. Cannot fail. */
void amped_contract_cpu(const amped_contraction *c, int threads, void *workspace);

#endif
