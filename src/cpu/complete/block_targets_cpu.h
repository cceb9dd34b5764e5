/* Block targets: the targets s of a block fit (backend/block_fit.h) on CPU cores, one per nonzero
 * of a copy. A pass over the copy updates them row by row, just before the row's equations are
 * added up. For a block of one column, both steps are one loop. */
#ifndef AMPED_BLOCK_TARGETS_CPU_H
#define AMPED_BLOCK_TARGETS_CPU_H

#include "cpu/complete/row_assembly_cpu.h"

/* Finds an input row's offset in bytes from the packed number of a nonzero, if numbers have 32
 * bits. */
typedef struct amped_column_field {
  uint32_t shift, mask, scale; /* (number >> shift & mask) << scale */
} amped_column_field;

/* How a fit of one column finds the input rows. */
typedef struct amped_column_fields {
  const uint32_t *words; /* packed numbers; NULL: they are longer than 32 bits, so bundles are
                            decoded */
  uint64_t nnz;
  amped_column_field inputs[AMPED_MAX_ORDER];
  const char *rows[AMPED_MAX_ORDER];
  int paired;                /* 1: inputs[0] is a table of products of two inputs; else 0 */
  amped_column_field second; /* if paired: its offset is added to the offset of inputs[0] */
} amped_column_fields;

/* Targets of mode's copy, as a pass over it uses them (amped_row_job.targets). */
typedef struct amped_block_targets {
  void *kept;             /* the targets, in the plan's value type */
  uint64_t width;         /* most columns of a block */
  const void *rows;       /* mode's rows of columns, by position */
  bool renewed;           /* a first block: targets are computed from the factors */
  uint64_t first, count;  /* current columns */
  uint64_t components;    /* components of the factors */
  amped_cpu_mttkrp whole; /* traversal with the factors themselves, and the copy's values */
  const void *factor;     /* mode's factor */
  amped_column_fields fields;
} amped_block_targets;

/* Bytes of a table of products for one column, enough for any mode. Two short inputs have few
 * different products, which are then computed once per pass. 0 if width > 1, or if a table does not
 * pay. */
uint64_t amped_block_targets_table_bytes(const amped_plan *plan, int width);

/* Set t->fields for a traversal m over mode's copy with columns for rows. table: memory for the
 * table, of the size above; NULL: no table. */
void amped_block_targets_find(amped_block_targets *t, const amped_plan *plan, int mode,
                              const amped_cpu_mttkrp *m, void *table);

/* Compute the table's products before a pass over mode's copy. The inputs' rows must be current. */
void amped_block_targets_multiply(const amped_row_job *j);

/* Update the targets of nonzeros first .. end, all of this row, for the current block. wide: all
 * sums are in double. Returns true if the workspace then has their equations: for blocks of one
 * column, if `wide` is false and there are no weights. */
bool amped_block_targets_renew(const amped_row_job *j, amped_row_workspace *d, uint64_t row,
                               uint64_t first, uint64_t end, bool wide);

#endif
