/* A slab in host memory, or any block of cells in a layout: its contraction T (dense_plan.h), and
 * MTTKRP of a mode from T, on CPU cores. T is kept with the versions of the factors in it. */
#ifndef AMPED_SLAB_CPU_H
#define AMPED_SLAB_CPU_H

#include "plan/dense_kept.h"
#include "plan/plan.h"

/* A slab. All memory is borrowed. plan gives components and types, dense the dimensions of the
 * cells. */
typedef struct amped_slab_cpu {
  const amped_plan *plan;
  const amped_dense_plan *dense;
  int threads;
  const void *cells;
  const void *rows[AMPED_MAX_ORDER]; /* each mode's factor rows, in the order of the cells'
                                        indices */
  void *t;                           /* memory for the largest T of dense */
  void *workspace;                   /* begins at a cache line */
  amped_dense_kept kept;             /* modes and versions of T; zeros: no T */
} amped_slab_cpu;

/* Bytes of workspace for cells of these dimensions. Fewer components never take more. */
uint64_t amped_slab_cpu_workspace(const amped_plan *plan, const amped_dense_plan *dense,
                                  int threads);

/* Make sure that T serves MTTKRP of mode, for factors of these versions. */
void amped_slab_cpu_contract(amped_slab_cpu *slab, int mode, const uint64_t *versions);

/* out = rows first .. first + count of MTTKRP of mode, from T; ld elements each. */
void amped_slab_cpu_rows(const amped_slab_cpu *slab, int mode, uint64_t first, uint64_t count,
                         void *out);

#endif
