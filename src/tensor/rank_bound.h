/* Rank bound: a number of components that can represent any tensor with these dimensions and this
 * number of nonzeros.
 *
 * One component per fibre of the longest mode suffices: their number is the product of all other
 * dimensions. One component per nonzero suffices, too. */
#ifndef AMPED_RANK_BOUND_H
#define AMPED_RANK_BOUND_H

#include <stdbool.h>

#include "base/types.h"

typedef struct amped_rank_bound {
  uint64_t ncomps;  /* UINT64_MAX: this number or more */
  bool by_nonzeros; /* there are fewer nonzeros than fibres */
} amped_rank_bound;

amped_rank_bound amped_rank_bound_of(int order, const uint64_t *dims, uint64_t nnz);

#endif
