/* Plan: which process owns which rows and nonzeros of every mode, and what memory that takes.
 *
 * A pure function of the tensor's iDp tables, the number of ranks and the options: the same on
 * every rank, made before any nonzero is read. Host memory, owned by the struct.
 *
 * Position order: in a run, mode d's factor has nranks * block_rows rows. Rank p's rows are the
 * contiguous block p * block_rows ..., first the rows of its iDps in ascending order, then padding
 * rows that are zero and that no nonzero names.
 *
 * Split iDps: their nonzeros are numbered, one iDp behind the other (in any order that all ranks
 * agree on: that of the copy in a file), and dealt out by number. A rank sums its part of them up
 * in shared rows, which lie behind the block in its MTTKRP result; the parts are then added up
 * (partial.h) into the owner's own rows. A rank's copy holds its shared' nonzeros last, so that its
 * output rows ascend.
 *
 * Parts: a block's rows may be cut into parts, in every rank's block at the same rows, so that
 * those that are computed first travel while the others are computed. */
#ifndef AMPED_PLAN_H
#define AMPED_PLAN_H

#include "plan/placement.h"
#include "tensor/packing.h"
#include "tensor/tensor_info.h"

/* Parts of a block at most. */
#define AMPED_MAX_PARTS 8

/* Where a rank has no nonzeros of an iDp. */
#define AMPED_NO_ROW UINT64_MAX

/* Of the user. */
typedef struct amped_plan_options {
  amped_placement placement;
  int parts; /* as amped_plan_cut takes them (overlap.h) */
} amped_plan_options;

typedef struct amped_split {
  uint64_t idp;
  uint64_t first; /* number of its first nonzero */
  uint64_t row;   /* rows of the split iDps before it */
} amped_split;

typedef struct amped_mode_plan {
  uint64_t dim;
  uint64_t width;
  uint64_t idp_count;
  const uint64_t *idp_nnz; /* borrowed from the tensor's info */
  int *owner;              /* [idp_count] rank of its rows */
  uint64_t *position;   /* [idp_count] row of the factor, in position order, of its first index */
  uint64_t *row;        /* [idp_count] row of this rank's MTTKRP result of its first index */
  uint64_t block_rows;  /* rows of every rank's block */
  uint64_t output_rows; /* of an MTTKRP result: the block, and shared rows for any rank */
  uint64_t *rank_rows;  /* [nranks] without padding */
  uint64_t *rank_nnz;   /* [nranks] */
  uint64_t positions;   /* one more than the largest position that a row has */
  uint64_t split_count;
  amped_split *splits; /* [split_count + 1] ascending; the last is the end of all */
  uint64_t *cuts;      /* [nranks + 1] rank p gets the numbers cuts[p] .. cuts[p + 1] of splits */
  int parts;           /* of every block, at least 1 */
  uint64_t part_rows[AMPED_MAX_PARTS + 1]; /* rows of the block before each part, and all */
  uint64_t part_nnz[AMPED_MAX_PARTS]; /* of this rank's copy to each part's end; not the last */
  double travel;           /* seconds that rows of parts travel, over those of MTTKRP, about */
  uint64_t unsplit_spread; /* as in balance.h */
  amped_packing packing;   /* of this rank's copy */
} amped_mode_plan;

typedef struct amped_plan {
  int order;
  int ncomps;
  amped_placement placement;
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
                               amped_vtype value_type, amped_placement placement, int rank,
                               int nranks);
void amped_plan_destroy(amped_plan *plan);

/* Another number of components for the same tensor. Placements, splits and packing stay. */
void amped_plan_set_ncomps(amped_plan *plan, int ncomps);

/* Nonzeros of mode's copy on this rank up to the end of a part. */
uint64_t amped_plan_part_nnz(const amped_plan *plan, int mode, int part);

/* Row of mode's factor, in position order, of a file index. */
static inline uint64_t amped_plan_position(const amped_plan *plan, int mode, uint64_t index) {
  const amped_mode_plan *m = &plan->modes[mode];
  uint64_t idp = index / m->width;
  return m->position[idp] + (index - idp * m->width);
}

/* Bytes of a factor row. */
static inline uint64_t amped_plan_row_bytes(const amped_plan *plan) {
  return plan->ld * plan->value_type;
}

/* Rows of mode's whole factor in position order: nranks * block_rows. */
uint64_t amped_plan_factor_rows(const amped_plan *plan, int mode);

/* The largest output_rows of all modes. */
uint64_t amped_plan_output_rows(const amped_plan *plan);

/* The most rows that occur in mode's copy on this rank. */
uint64_t amped_plan_copy_rows(const amped_plan *plan, int mode);

/* Split iDp i: its number among the splits, split_count where it is not split. */
uint64_t amped_plan_split_of(const amped_mode_plan *m, uint64_t idp);

/* Nonzeros of an iDp that a rank gets: all, or its part of a split one. */
uint64_t amped_plan_idp_nnz(const amped_mode_plan *m, int rank, uint64_t idp);

/* The rank that gets a numbered nonzero of the split iDps. */
int amped_plan_split_rank(const amped_mode_plan *m, int nranks, uint64_t number);

/* The split iDps that a rank has nonzeros of: first .. end; its shared rows are theirs, in order.
 */
void amped_plan_shared_idps(const amped_mode_plan *m, int rank, uint64_t *first, uint64_t *end);

/* Bytes in memory: one nonzero of a copy before it is packed (row, input positions, value); mode's
 * packed copy on this rank, row bits, row list and row table included; all factors and the MTTKRP
 * result (the same on every rank). */
uint64_t amped_plan_nonzero_bytes(const amped_plan *plan);
uint64_t amped_plan_copy_bytes(const amped_plan *plan, int mode);
uint64_t amped_plan_factor_bytes(const amped_plan *plan);

/* (max - min) / mean of the nonzeros of mode over ranks, in per cent, as in AMPED's figure 8; and
 * what it would be had GREEDY split nothing (the same where the placement is another). */
double amped_plan_imbalance(const amped_plan *plan, int mode);
double amped_plan_unsplit_imbalance(const amped_plan *plan, int mode);

#endif
