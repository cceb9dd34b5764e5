/* Plan: the rank that owns each row and each nonzero of every mode, and the memory that this takes.
 *
 * A pure function of the tensor's iDp tables, the number of ranks and the options: the same on
 * every rank, made before any nonzero is read. Not collective. Host memory, owned by the struct.
 *
 * Position order: during a run, mode d's factor has nranks * block_rows rows. Rank p's rows are the
 * contiguous block from p * block_rows on. The block has the rows of its iDps in ascending order,
 * with rows of split iDps after the others, then padding rows, which are zero and which no nonzero
 * refers to.
 *
 * Split iDps: their nonzeros are numbered, iDp after iDp, in any order that all ranks agree on (in
 * a file, the order of the copy). The numbers decide which rank gets a nonzero. A rank adds up its
 * part of the sums in shared rows, which are after the block in its MTTKRP result. row_reduce.h
 * then adds these parts to the owner's rows. In a rank's copy the nonzeros of its shared rows are
 * last, so that output rows ascend.
 *
 * Parts: every rank's block may be cut into parts, at the same rows on all ranks. Rows of a
 * finished part are sent while the next part is computed. Rows of split iDps are in the last
 * part. */
#ifndef AMPED_PLAN_H
#define AMPED_PLAN_H

#include "plan/dense_plan.h"
#include "plan/linear.h"
#include "plan/placement.h"
#include "tensor/packing.h"
#include "tensor/tensor_info.h"
#include "tensor/value_map.h"

/* Most parts of a block. */
#define AMPED_MAX_PARTS 8

/* Row of an iDp of which a rank has no nonzeros. */
#define AMPED_NO_ROW UINT64_MAX

typedef struct amped_split {
  uint64_t idp;
  uint64_t first; /* number of its first nonzero */
  uint64_t row;   /* total rows of the split iDps before it */
} amped_split;

/* Owners and positions of one mode's rows, for every solver and every tensor format. */
typedef struct amped_row_plan {
  uint64_t dim;
  uint64_t width; /* indices of an iDp */
  uint64_t idp_count;
  int *owner;          /* [idp_count] rank that owns the rows */
  uint64_t *position;  /* [idp_count] position of the iDp's first row in the factor */
  uint64_t block_rows; /* rows of every rank's block */
  uint64_t *rank_rows; /* [nranks] own rows without padding */
  uint64_t positions;  /* one more than the largest position of a row */
  int parts;           /* parts of every block, at least 1 */
  uint64_t part_rows[AMPED_MAX_PARTS + 1]; /* rows of the block before each part; last, all rows */
} amped_row_plan;

/* Owners of the nonzeros of one mode's copy: the sorted formats' part of a plan, made for every
 * mode. Modes that share a copy in boxes have no nonzeros of their own: none of their iDps is
 * split, and their rank_nnz equals the shared copy's. */
typedef struct amped_copy_plan {
  const uint64_t *idp_nnz; /* [idp_count] borrowed from the tensor's info */
  uint64_t *rank_nnz;      /* [nranks] nonzeros of every rank */
  uint64_t *row;        /* [idp_count] row of the iDp's first index in this rank's MTTKRP result */
  uint64_t output_rows; /* rows of an MTTKRP result: block, and most shared rows of a rank */
  uint64_t split_count;
  amped_split *splits; /* [split_count + 1] ascending; the last entry is the end of all */
  uint64_t *cuts;      /* [nranks + 1] rank p gets nonzeros cuts[p] .. cuts[p + 1] of the splits */
  uint64_t part_nnz[AMPED_MAX_PARTS]; /* [parts - 1] element i: nonzeros of this rank's copy in
                                         parts 0 .. i */
  double travel;           /* estimated time of sending rows, divided by the time of MTTKRP */
  uint64_t unsplit_spread; /* see placement.h */
  amped_packing packing;   /* packing of this rank's copy */
} amped_copy_plan;

typedef struct amped_mode_plan {
  amped_row_plan rows;
  amped_copy_plan copy;
} amped_mode_plan;

/* Demands of a tensor format on the plan and the loaders. All false: a copy of every mode, with
 * values coded if this takes fewer bytes. */
typedef struct amped_copy_needs {
  bool one_copy;     /* the longest mode's copy serves all modes; loaders hand over no other */
  bool plain_values; /* values get no code, because they may change; each copy has its own values */
  bool whole_rows;   /* nonzeros of a row are consecutive: no tiles */
  bool cells;        /* the tensor is dense: slabs of its cells instead of copies of nonzeros */
} amped_copy_needs;

typedef struct amped_plan_request {
  int ncomps;
  amped_vtype value_type; /* type of values and factors in memory */
  amped_placement placement;
  int rank, nranks;
  amped_copy_needs needs;
  const int *owners[AMPED_MAX_ORDER]; /* owners of iDps; NULL: chosen (placement.h) */
  bool outside;                       /* dense tensors: cells stay in their file */
} amped_plan_request;

typedef struct amped_plan {
  int order;
  int ncomps;
  amped_placement placement;
  int nranks;
  int rank; /* the rank of this process */
  uint64_t dims[AMPED_MAX_ORDER];
  uint64_t nnz;
  double norm_squared;
  amped_value_map map;     /* map of values in memory; none until plan_map_values */
  amped_dictionary mapped; /* the tensor's dictionary after the map: do not move the plan */
  const amped_dictionary
      *dictionary; /* dictionary of values in memory: the tensor's own, borrowed, or mapped */
  amped_vtype value_type; /* type of values and factors in memory */
  amped_itype index_type; /* type of row positions in memory: AMPED_U32 or AMPED_U64 */
  uint64_t ld;            /* elements from row to row of a factor: ncomps, padded with zeros */
  bool whole_rows;
  /* Copies that loaders hand over: a sorted copy of each mode (sorted), or one copy in boxes for
   * all modes (boxed: the longest mode; -1: none). Cells have neither. */
  bool sorted;
  int boxed;
  amped_linear linear;    /* if the format has one copy; else zeros */
  amped_dense_plan dense; /* if the format needs cells; else zeros */
  amped_mode_plan modes[AMPED_MAX_ORDER];
} amped_plan;

/* Make a plan. It borrows the info's tables and dictionary, which outlive it. On failure there is
 * nothing to free. AMPED_FAILED if no machine can hold the sizes. */
amped_status amped_plan_create(amped_plan *plan, const amped_tensor_info *info,
                               const amped_plan_request *request);
void amped_plan_destroy(amped_plan *plan);

/* Store values by this map from now on. Call it before anything is prepared for the plan. */
amped_status amped_plan_map_values(amped_plan *plan, amped_value_map map);

/* Change the number of components, and with it ld: rows of 16 bytes, or of whole sectors of 32, and
 * never three of a line's four sectors. More components never have a smaller ld. Placements, splits
 * and packing do not change. */
void amped_plan_set_ncomps(amped_plan *plan, int ncomps);

/* Do loaders hand over mode's copy? */
static inline bool amped_plan_has_copy(const amped_plan *plan, int mode) {
  return plan->sorted || mode == plan->boxed;
}

/* The mode whose copy serves mode. */
static inline int amped_plan_copy_of(const amped_plan *plan, int mode) {
  return plan->boxed >= 0 ? plan->boxed : mode;
}

/* Number of copies that loaders hand over: at most one per mode; 0 for cells. */
int amped_plan_copies(const amped_plan *plan);

/* Nonzeros of mode's copy on this rank up to the end of a part. */
uint64_t amped_plan_part_nnz(const amped_plan *plan, int mode, int part);

/* The position of a file index in mode's factor. */
static inline uint64_t amped_plan_position(const amped_plan *plan, int mode, uint64_t index) {
  const amped_mode_plan *m = &plan->modes[mode];
  uint64_t idp = index / m->rows.width;
  return m->rows.position[idp] + (index - idp * m->rows.width);
}

/* The position of a row of this rank's MTTKRP result of mode, an own or a shared row. For formats
 * with one copy for all modes. */
uint64_t amped_plan_row_position(const amped_plan *plan, int mode, uint64_t row);

/* Bytes of a factor row. */
static inline uint64_t amped_plan_row_bytes(const amped_plan *plan) {
  return plan->ld * plan->value_type;
}

/* Rows of mode's whole factor in position order: nranks * block_rows. */
uint64_t amped_plan_factor_rows(const amped_plan *plan, int mode);

/* The longest mode except this one, the lowest of equal ones. */
int amped_plan_longest_other(const amped_plan *plan, int mode);

/* The maximum of output_rows over modes. */
uint64_t amped_plan_output_rows(const amped_plan *plan);

/* Most distinct rows of mode's copy on this rank. */
uint64_t amped_plan_copy_rows(const amped_plan *plan, int mode);

/* The number of an iDp among the split iDps; split_count if it is not split. */
uint64_t amped_plan_split_of(const amped_mode_plan *m, uint64_t idp);

/* The number of an iDp's nonzeros that a rank gets: all, or its part of a split iDp. */
uint64_t amped_plan_idp_nnz(const amped_mode_plan *m, int rank, uint64_t idp);

/* Is the iDp placed last in its block? True for split iDps and for a mode's short last iDp, so that
 * every other iDp begins at a multiple of `width`. */
bool amped_plan_is_late(const amped_mode_plan *m, uint64_t idp);

/* The rank that gets a numbered nonzero of the split iDps. */
int amped_plan_split_rank(const amped_mode_plan *m, int nranks, uint64_t number);

/* The split iDps of which a rank has nonzeros: first .. end. The rank's shared rows are their rows,
 * in order. */
void amped_plan_shared_idps(const amped_mode_plan *m, int rank, uint64_t *first, uint64_t *end);

/* Bytes of packed copies for all modes on all ranks, whether or not the plan has these copies. Rows
 * that several ranks share count once. */
double amped_plan_packed_bytes(const amped_plan *plan);

/* Bytes in memory. nonzero: one nonzero of a copy before packing (row, input positions, value).
 * copy: mode's packed copy on this rank, with row bits, row list and row table. factor: all factors
 * and the MTTKRP result, the same on every rank. */
uint64_t amped_plan_nonzero_bytes(const amped_plan *plan);
uint64_t amped_plan_copy_bytes(const amped_plan *plan, int mode);
uint64_t amped_plan_factor_bytes(const amped_plan *plan);

/* (max - min) / mean of mode's nonzeros over ranks, in per cent, as in AMPED's figure 8. unsplit:
 * the value before GREEDY's splits; other placements give the same value for both. */
double amped_plan_imbalance(const amped_plan *plan, int mode);
double amped_plan_unsplit_imbalance(const amped_plan *plan, int mode);

#endif
