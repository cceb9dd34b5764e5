/* Block sizes: numbers of elements of dense blocks, checked for overflow. */
#include "backend/block_sizes.h"

#include <string.h>

amped_dense_plan amped_block_largest(const amped_plan *plan, const amped_block_shape *shape) {
  amped_dense_plan d = plan->dense;
  memcpy(d.dims, shape->dims, sizeof d.dims);
  return d;
}

uint64_t amped_block_contracted(const amped_plan *plan, const amped_block_shape *shape) {
  const amped_dense_plan d = amped_block_largest(plan, shape);
  uint64_t most = 0;
  if (d.tree != AMPED_TREE_ONE || shape->kept < 0)
    return amped_dense_largest(&d, plan->order, plan->ncomps);
  for (int k = 0; k < plan->order; k++) {
    const uint64_t t = amped_dense_contracted(&d, plan->order, plan->ncomps, k, k + 1);
    most = d.layout[k] != shape->kept && t > most ? t : most;
  }
  return most;
}

bool amped_block_sizes_find(const amped_plan *plan, const amped_block_shape *shape,
                            amped_block_sizes *s) {
  const uint64_t t = amped_block_contracted(plan, shape);
  bool fits = t < UINT64_MAX && amped_mul(t, shape->count, &s->t);
  s->cells = shape->count;
  s->most_rows = 0;
  for (int m = 0; m < plan->order; m++) {
    fits = fits && amped_mul(s->cells, shape->dims[m], &s->cells) &&
           amped_mul(shape->count, shape->dims[m], &s->rows[m]);
    s->most_rows = s->rows[m] > s->most_rows ? s->rows[m] : s->most_rows;
  }
  return fits && s->cells <= INT64_MAX / sizeof(double) && s->t <= INT64_MAX / sizeof(double);
}

amped_status amped_block_sizes_refuse(const amped_plan *plan) {
  return amped_error(AMPED_FAILED, NULL,
                     "blocks of the tensor times %d components are too large for any machine; "
                     "use a smaller --block or fewer components",
                     plan->ncomps);
}
