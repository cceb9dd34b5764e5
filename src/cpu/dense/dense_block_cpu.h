/* Blocks of a dense tensor on CPU cores (backend/dense_block.h). */
#ifndef AMPED_DENSE_BLOCK_CPU_H
#define AMPED_DENSE_BLOCK_CPU_H

#include "backend/backend.h"

extern const amped_dense_block_ops amped_dense_block_cpu;

/* Members of a dense tensor part that blocks use. */
typedef struct amped_dense_part_cpu {
  const amped_plan *plan;
  amped_factor_set *factors;
  int threads;
  const void *cells; /* slab, in the plan's layout */
} amped_dense_part_cpu;

amped_dense_part_cpu amped_dense_part_cpu_of(const amped_tensor_part *part);

#endif
