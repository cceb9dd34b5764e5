/* Block targets: the targets s of a block fit (backend/block_fit.h) on CPU cores, one for each
 * nonzero of a copy. A pass over the copy brings them up to date row by row, just before the row's
 * equations are added up. Where a block is one column, both are done at once. */
#ifndef AMPED_BLOCK_TARGETS_CPU_H
#define AMPED_BLOCK_TARGETS_CPU_H

#include "cpu/row_assembly_cpu.h"

/* Bytes from the first of an input's rows on, where numbers of nonzeros have 32 bits. */
typedef struct amped_column_field {
  uint32_t shift, mask, scale; /* (number >> shift & mask) << scale */
} amped_column_field;

/* How one column finds the rows of inputs. */
typedef struct amped_column_fields {
  const uint32_t *words; /* the numbers; NULL: they are longer, and bundles are decoded */
  uint64_t nnz;
  amped_column_field inputs[AMPED_MAX_ORDER];
  const char *rows[AMPED_MAX_ORDER];
  int paired;                /* 1: the first of inputs is a table of products of two, else 0 */
  amped_column_field second; /* with it: added to the first field */
} amped_column_fields;

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
  amped_column_fields fields;
} amped_block_targets;

/* Bytes of the table of one column, for any mode, where blocks have so many. Two short inputs have
 * few different products, which are made once a pass; 0 where that does not pay. */
uint64_t amped_block_targets_table_bytes(const amped_plan *plan, int width);

/* Sets fields, for a walk over mode's copy with columns for rows. table: room, or NULL. */
void amped_block_targets_find(amped_block_targets *t, const amped_plan *plan, int mode,
                              const amped_cpu_mttkrp *m, void *table);

/* Makes the table's products, before a pass over mode's copy: the inputs' rows are current. */
void amped_block_targets_multiply(const amped_row_job *j);

/* The targets of nonzeros first .. end, all of this row, become those of the block. Returns true
 * where their equations are in the desk: one column, not wide, and without weights. */
bool amped_block_targets_renew(const amped_row_job *j, amped_row_desk *d, uint64_t row,
                               uint64_t first, uint64_t end, bool wide);

#endif
