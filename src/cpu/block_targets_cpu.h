/* Block targets: the targets s of a block fit (backend/block_fit.h) on CPU cores, one for each
 * nonzero of a copy. A pass over the copy brings them up to date row by row, just before the row's
 * equations are added up. Where a block is one column, both are done at once. */
#ifndef AMPED_BLOCK_TARGETS_CPU_H
#define AMPED_BLOCK_TARGETS_CPU_H

#include "cpu/row_assembly_cpu.h"

/* The targets of mode's copy, as a pass finds them: a job's. */
typedef struct amped_block_targets {
  void *kept;             /* of the plan's value type */
  uint64_t width;         /* columns that a row of columns has room for */
  const void *rows;       /* mode's rows of columns, by position */
  bool renewed;           /* a first block: targets are made from the factors */
  uint64_t first, count;  /* columns in hand */
  uint64_t components;    /* of the factors */
  amped_cpu_mttkrp whole; /* of the factors themselves, and the copy's values */
  const void *factor;     /* mode's */
} amped_block_targets;

/* The targets of nonzeros first .. end, all of this row, become those of the block. Returns true
 * where their equations are in the desk: one column, not wide, and without weights. */
bool amped_block_targets_renew(const amped_row_job *j, amped_row_desk *d, uint64_t row,
                               uint64_t first, uint64_t end, bool wide);

#endif
