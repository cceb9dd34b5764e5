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
  amped_vtype value_type;       /* of values */
  uint64_t nnz;                 /* nonzeros of the complete copy */
  uint64_t filled;              /* nonzeros packed so far */
  uint64_t last_row;            /* of the last nonzero that was taken */
  uint64_t last_input;          /* its first input's position */
  uint64_t rows;                /* entries of row_list */
  uint64_t fibres;              /* times that the row or the first input's position changes */
  void *planes[AMPED_MAX_PLANES];
  void *values;         /* NULL where values are coded in the planes */
  uint32_t *row_bits;   /* bit k: nonzero k begins a row */
  uint32_t *fibre_bits; /* bit k: the row or the first input's position changes */
  void *row_list;       /* [rows] the output rows, ascending */
  void *row_table;      /* [packs] entry in row_list of the first nonzero of each pack */
} amped_cpu_copy;

/* Room for nnz nonzeros in at most `rows` rows, of mode's packing. The caller has zeroed *copy, and
 * calls amped_cpu_copy_free, also where this fails. */
amped_status amped_cpu_copy_create(amped_cpu_copy *copy, const amped_plan *plan, int mode,
                                   uint64_t nnz, uint64_t rows);
void amped_cpu_copy_free(amped_cpu_copy *copy);

/* Bytes of its arrays. */
uint64_t amped_cpu_copy_bytes(const amped_plan *plan, int mode, uint64_t nnz, uint64_t rows);

/* Pack nonzeros offset .. offset+batch->count. Batches come one behind another, from offset 0 on.
 * dictionary has plan->dictionary->count values, rounded to the plan's value type. AMPED_BAD_INPUT:
 * rows descend, or a value is not in the dictionary. */
amped_status amped_cpu_copy_add(amped_cpu_copy *copy, const amped_plan *plan, int mode,
                                const double *dictionary, uint64_t offset, const amped_batch *batch,
                                int threads);

/* A part of a copy's room as an empty copy, whose arrays belong to `copy`: for nnz nonzeros from
 * `first` on, a multiple of AMPED_LONG_PACK, and rows from entry `first_row` of the row list on. */
amped_cpu_copy amped_cpu_copy_part(const amped_cpu_copy *copy, uint64_t first, uint64_t first_row,
                                   uint64_t nnz);

/* Take nonzeros of a copy with the same packing, in ascending order, behind those that are there.
 * rows: their output rows. */
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
