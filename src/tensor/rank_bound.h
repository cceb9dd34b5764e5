/* Rank bound: so many components make any tensor of these dimensions with so many nonzeros.
 *
 * A component for each fibre of the longest mode does it: their number is the product of all other
 * dimensions. So does a component for each nonzero. */
#ifndef AMPED_RANK_BOUND_H
#define AMPED_RANK_BOUND_H

#include <stdbool.h>

#include "base/types.h"

typedef struct amped_rank_bound {
  uint64_t ncomps;  /* UINT64_MAX: as much, or more */
  bool by_nonzeros; /* there are fewer nonzeros than fibres */
} amped_rank_bound;

amped_rank_bound amped_rank_bound_of(int order, const uint64_t *dims, uint64_t nnz);

#endif
