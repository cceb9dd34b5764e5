/* Plan: which process owns which rows and nonzeros of every mode, and what memory that takes.
 *
 * A pure function of the tensor's iDp tables, the number of ranks and the options: the same on
 * every rank, made before any nonzero is read. Host memory, owned by the struct.
 *
 * Position order: in a run, mode d's factor has nranks * block_rows rows. Rank p's rows are the
 * contiguous block p * block_rows ..., first the rows of its iDps in ascending order, then padding
 * rows that are zero and that no nonzero names. */
#ifndef AMPED_PLAN_H
#define AMPED_PLAN_H

#include "packed.h"
#include "tensor_file.h"

/* Above INT_MAX rows a factor is exchanged in groups of this many rows, which blocks then fill. */
#define AMPED_ROW_GROUP 1024

typedef struct amped_mode_plan {
  uint64_t dim;
  uint64_t width;
  uint64_t idp_count;
  const uint64_t *idp_nnz; /* borrowed from the tensor's info */
  int *owner;              /* [idp_count] rank */
  uint64_t *position;    /* [idp_count] row of the factor, in position order, of its first index */
  uint64_t block_rows;   /* rows of every rank's block */
  uint64_t *rank_rows;   /* [nranks] without padding */
  uint64_t *rank_nnz;    /* [nranks] */
  uint64_t positions;    /* one more than the largest position that a row has */
  amped_packing packing; /* of this rank\'s copy */
} amped_mode_plan;

typedef struct amped_plan {
  int order;
  int ncomps;
  int nranks;
  int rank; /* the one this process is */
  uint64_t dims[AMPED_MAX_ORDER];
  uint64_t nnz;
  double norm_squared;
  const amped_dictionary *dictionary; /* borrowed from the tensor's info */
  amped_vtype value_type;             /* of values and factors in memory */
  amped_itype index_type;             /* of row positions in memory: AMPED_U32 or AMPED_U64 */
  uint64_t ld; /* elements between rows of a factor: ncomps padded to 16 bytes, zeros */
  amped_mode_plan modes[AMPED_MAX_ORDER];
} amped_plan;

amped_status amped_plan_create(amped_plan *plan, const amped_tensor_info *info, int ncomps,
                               amped_vtype value_type, int rank, int nranks);
void amped_plan_destroy(amped_plan *plan);

/* Row of mode's factor, in position order, of a file index. */
static inline uint64_t amped_plan_position(const amped_plan *plan, int mode, uint64_t index) {
  const amped_mode_plan *m = &plan->modes[mode];
  uint64_t idp = index / m->width;
  return m->position[idp] + (index - idp * m->width);
}

/* The rank that owns a file index of mode. */
static inline int amped_plan_owner(const amped_plan *plan, int mode, uint64_t index) {
  const amped_mode_plan *m = &plan->modes[mode];
  return m->owner[index / m->width];
}

/* Rows of mode's whole factor in position order: nranks * block_rows. */
uint64_t amped_plan_factor_rows(const amped_plan *plan, int mode);

/* The largest block_rows of all modes: the rows of an MTTKRP result. */
uint64_t amped_plan_output_rows(const amped_plan *plan);

/* Bytes in memory: one nonzero of a copy before it is packed (row, input positions, value); mode's
 * packed copy on this rank, row bits, row list and row table included; all factors and the MTTKRP
 * result (the same on every rank). */
uint64_t amped_plan_nonzero_bytes(const amped_plan *plan);
uint64_t amped_plan_copy_bytes(const amped_plan *plan, int mode);
uint64_t amped_plan_factor_bytes(const amped_plan *plan);

/* (max - min) / mean of the nonzeros of mode over ranks, in per cent, as in AMPED's figure 8. */
double amped_plan_imbalance(const amped_plan *plan, int mode);

#endif
