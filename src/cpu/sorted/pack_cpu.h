/* Packed copy: one rank's shard of one mode's tensor copy in host memory, in the form of
 * tensor/packing.h.
 *
 * create allocates arrays of the plan's sizes. add packs translated nonzeros in the order of the
 * copy, in batches of any length, by all threads. A copy may be read after the last batch. Not
 * collective. */
#ifndef AMPED_PACK_CPU_H
#define AMPED_PACK_CPU_H

#include "backend/backend.h"

typedef struct amped_cpu_copy {
  const amped_packing *packing; /* borrowed from the plan */
  amped_itype index_type;       /* type of row_list and row_table */
  amped_vtype value_type;       /* type of values */
  uint64_t nnz;                 /* nonzeros of the complete copy */
  uint64_t filled;              /* nonzeros packed so far */
  uint64_t last_row;            /* row of the last nonzero packed */
  uint64_t last_input;          /* its first input position */
  uint64_t rows;                /* number of entries of row_list */
  uint64_t fibres;              /* number of changes of the row or the first input position */
  void *planes[AMPED_MAX_PLANES];
  void *values;         /* NULL if the planes contain codes of values */
  uint32_t *row_bits;   /* bit k: nonzero k begins a row */
  uint32_t *fibre_bits; /* bit k: the row or the first input position changes at nonzero k */
  void *row_list;       /* [rows] output rows, ascending */
  void *row_table;      /* [packs] index in row_list of each pack's first nonzero */
} amped_cpu_copy;

/* Allocate for nnz nonzeros in at most `rows` rows, in mode's packing. The caller zeroes *copy
 * before, and calls amped_cpu_copy_free also if create fails. */
amped_status amped_cpu_copy_create(amped_cpu_copy *copy, const amped_plan *plan, int mode,
                                   uint64_t nnz, uint64_t rows);
void amped_cpu_copy_free(amped_cpu_copy *copy);

/* Bytes of a copy's arrays. */
uint64_t amped_cpu_copy_bytes(const amped_plan *plan, int mode, uint64_t nnz, uint64_t rows);

/* Pack nonzeros offset .. offset + batch->count. Batches follow each other, from offset 0 on.
 * dictionary: plan->dictionary->count values, rounded to the plan's value type. Returns
 * AMPED_BAD_INPUT if rows descend, or if a value is not in the dictionary. */
amped_status amped_cpu_copy_add(amped_cpu_copy *copy, const amped_plan *plan, int mode,
                                const double *dictionary, uint64_t offset, const amped_batch *batch,
                                int threads);

/* An empty copy that uses part of the arrays of `copy`, which still owns them. It holds nnz
 * nonzeros from `first` on, a multiple of AMPED_LONG_PACK, and rows from entry `first_row` of the
 * row list on. */
amped_cpu_copy amped_cpu_copy_part(const amped_cpu_copy *copy, uint64_t first, uint64_t first_row,
                                   uint64_t nnz);

/* Append nonzeros of a copy with the same packing; numbers ascend. rows: their output rows. */
void amped_cpu_copy_take(amped_cpu_copy *copy, const amped_cpu_copy *from, const uint64_t *numbers,
                         const uint64_t *rows, uint64_t count);

/* An element of row_list or row_table. */
static inline uint64_t amped_cpu_copy_index(const amped_cpu_copy *copy, const void *array,
                                            uint64_t i) {
  return copy->index_type == AMPED_U32 ? ((const uint32_t *)array)[i]
                                       : ((const uint64_t *)array)[i];
}

static inline bool amped_cpu_copy_begins_row(const amped_cpu_copy *copy, uint64_t k) {
  return copy->row_bits[k / 32] >> k % 32 & 1;
}

#endif
