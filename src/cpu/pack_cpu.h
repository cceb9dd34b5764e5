/* Packed copies in host memory: one rank's share of one mode's copy, stored as packed.h says,
 * filled from translated nonzeros by all threads.
 *
 * create allocates what the plan says the copy may take; add takes nonzeros in the order of the
 * copy, in pieces of any length. Nothing is read back before the last piece. */
#ifndef AMPED_PACK_CPU_H
#define AMPED_PACK_CPU_H

#include "backend/backend.h"

typedef struct amped_cpu_copy {
  const amped_packing *packing; /* borrowed from the plan */
  amped_itype index_type;       /* of row_list and row_table */
  uint64_t nnz;                 /* that the copy will hold */
  uint64_t filled;              /* that it holds */
  uint64_t rows;                /* entries of row_list */
  uint64_t fibres;              /* times that the row or the first input's position changes */
  void *planes[AMPED_MAX_PLANES];
  void *values; /* where not coded */
  uint32_t *row_bits;
  void *row_list;
  void *row_table;
} amped_cpu_copy;

/* Zeroed before; amped_cpu_copy_free also after a failure. */
amped_status amped_cpu_copy_create(amped_cpu_copy *copy, const amped_plan *plan, int mode);
void amped_cpu_copy_free(amped_cpu_copy *copy);

/* Store nonzeros offset .. offset+run->count: from 0 on, each piece directly behind the last.
 * dictionary has plan->dictionary->count values, rounded to the plan's value type.
 * AMPED_BAD_INPUT where rows descend or a value is not in the dictionary. */
amped_status amped_cpu_copy_add(amped_cpu_copy *copy, const amped_plan *plan, int mode,
                                const double *dictionary, uint64_t offset, const amped_batch *batch,
                                int threads);

#endif
