/* Packed copy: one rank's shard of one mode's tensor copy in host memory, in the form of
 * tensor/packing.h.
 *
 * create allocates the arrays of the size that the plan says. add packs translated nonzeros, in the
 * order of the copy, in batches of any length, by all threads. A copy is read after the last batch.
 * Functions are not collective. */
#ifndef AMPED_PACK_CPU_H
#define AMPED_PACK_CPU_H

#include "backend/backend.h"

typedef struct amped_cpu_copy {
  const amped_packing *packing; /* borrowed from the plan */
  amped_itype index_type;       /* of row_list and row_table */
  uint64_t nnz;                 /* nonzeros of the complete copy */
  uint64_t filled;              /* nonzeros packed so far */
  uint64_t rows;                /* entries of row_list */
  uint64_t fibres;              /* times that the row or the first input's position changes */
  void *planes[AMPED_MAX_PLANES];
  void *values;       /* NULL where values are coded in the planes */
  uint32_t *row_bits; /* bit k: nonzero k begins a row */
  void *row_list;     /* [rows] the output rows, ascending */
  void *row_table;    /* [packs] entry in row_list of the first nonzero of each pack */
} amped_cpu_copy;

/* The caller has zeroed *copy, and calls amped_cpu_copy_free, also where this fails. */
amped_status amped_cpu_copy_create(amped_cpu_copy *copy, const amped_plan *plan, int mode);
void amped_cpu_copy_free(amped_cpu_copy *copy);

/* Pack nonzeros offset .. offset+batch->count. Batches come one behind another, from offset 0 on.
 * dictionary has plan->dictionary->count values, rounded to the plan's value type. AMPED_BAD_INPUT:
 * rows descend, or a value is not in the dictionary. */
amped_status amped_cpu_copy_add(amped_cpu_copy *copy, const amped_plan *plan, int mode,
                                const double *dictionary, uint64_t offset, const amped_batch *batch,
                                int threads);

#endif
