/* Plan: the rank that owns each row and each nonzero of every mode, and the memory that this takes.
 *
 * A pure function of the tensor's iDp tables, the number of ranks and the options: the same on
 * every rank, made before any nonzero is read. Not collective. Host memory, owned by the struct.
 *
 * Position order: during a run, mode d's factor has nranks * block_rows rows. Rank p's rows are the
 * contiguous block from p * block_rows on. It has the rows of its iDps in ascending order, those of
 * split iDps behind the others, then padding rows, which are zero and which no nonzero refers to.
 *
 * Split iDps: their nonzeros are numbered, iDp after iDp, in any order that all ranks agree on (in
 * a file, the order of the copy). The numbers decide which rank gets a nonzero. A rank adds up its
 * part of the sums in shared rows, which are behind the block in its MTTKRP result. row_reduce.h
 * then adds these parts to the owner's rows. In a rank's copy the nonzeros of its shared rows are
 * last, so that output rows ascend.
 *
 * Parts: every rank's block may be cut into parts, at the same rows on all ranks. Rows of a
 * finished part travel while the next part is computed. Rows of split iDps are in the last part. */
#ifndef AMPED_PLAN_H
#define AMPED_PLAN_H

#include "plan/dense_plan.h"
#include "plan/linear.h"
#include "plan/placement.h"
#include "tensor/packing.h"
#include "tensor/tensor_info.h"
#include "tensor/value_map.h"

/* The most parts of a block. */
#define AMPED_MAX_PARTS 8

/* The row of an iDp where a rank has no nonzeros of it. */
#define AMPED_NO_ROW UINT64_MAX

typedef struct amped_split {
  uint64_t idp;
  uint64_t first; /* number of its first nonzero */
  uint64_t row;   /* number of the rows of the split iDps before it */
} amped_split;

/* Rows of one mode: who owns them, and where they lie. Every solver and every tensor format needs
 * this. */
typedef struct amped_row_plan {
  uint64_t dim;
  uint64_t width; /* indices of an iDp */
  uint64_t idp_count;
  int *owner;          /* [idp_count] rank that owns the rows */
  uint64_t *position;  /* [idp_count] row of its first index in the factor, in position order */
  uint64_t block_rows; /* rows of every rank's block */
  uint64_t *rank_rows; /* [nranks] without padding */
  uint64_t positions;  /* one more than the largest position of a row */
  int parts;           /* parts of every block, at least 1 */
  uint64_t part_rows[AMPED_MAX_PARTS + 1]; /* rows of the block before each part; last, all rows */
} amped_row_plan;

/* Nonzeros of one mode's copy: which ranks hold them, and how. The sorted formats' part of a plan.
 * Made for every mode. Modes that share a copy in boxes have no nonzeros of their own: no iDp of
 * them is split, and their rank_nnz are those of that copy. */
typedef struct amped_copy_plan {
  const uint64_t *idp_nnz; /* [idp_count] borrowed from the tensor's info */
  uint64_t *rank_nnz;      /* [nranks] */
  uint64_t *row;           /* [idp_count] row of its first index in this rank's MTTKRP result */
  uint64_t output_rows;    /* rows of an MTTKRP result: the block, and shared rows for any rank */
  uint64_t split_count;
  amped_split *splits; /* [split_count + 1] ascending; the last entry is the end of all */
  uint64_t *cuts;      /* [nranks + 1] rank p gets nonzeros cuts[p] .. cuts[p + 1] of the splits */
  uint64_t part_nnz[AMPED_MAX_PARTS]; /* nonzeros of this rank's copy up to the end of each part but
                                         the last */
  double travel;           /* estimated time of sending rows, divided by that of MTTKRP */
  uint64_t unsplit_spread; /* see placement.h */
  amped_packing packing;   /* of this rank's copy */
} amped_copy_plan;

typedef struct amped_mode_plan {
  amped_row_plan rows;
  amped_copy_plan copy;
} amped_mode_plan;

/* What a tensor format asks of the plan and of the loaders. All false: a copy of every mode, values
 * coded where that takes fewer bytes. */
typedef struct amped_copy_needs {
  bool one_copy;     /* loaders hand over the copy of the longest mode, for all modes */
  bool mixes;        /* with one_copy: but for some, which have a copy of their own (request.own) */
  bool plain_values; /* values get no code, as they may change; each copy has its own values */
  bool whole_rows;   /* nonzeros of a row lie together: no tiles */
  bool cells;        /* the tensor is dense: slabs of its cells instead of copies of nonzeros */
} amped_copy_needs;

typedef struct amped_plan_request {
  int ncomps;
  amped_vtype value_type; /* of values and factors in memory */
  amped_placement placement;
  int rank, nranks;
  amped_copy_needs needs;
  const int *owners[AMPED_MAX_ORDER]; /* of iDps, where they are given (placement.h) */
  bool outside;                       /* of a dense tensor: cells stay in their file */
  unsigned own; /* where needs.mixes: a bit for each mode with a copy of its own */
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
  amped_value_map map;     /* of values in memory; none until plan_map_values */
  amped_dictionary mapped; /* the tensor's dictionary in that map: do not move the plan */
  const amped_dictionary
      *dictionary;        /* of values in memory: the tensor's own, borrowed, or mapped */
  amped_vtype value_type; /* of values and factors in memory */
  amped_itype index_type; /* of row positions in memory: AMPED_U32 or AMPED_U64 */
  uint64_t ld;            /* elements from row to row of a factor: ncomps, padded with zeros */
  bool whole_rows;
  /* Loaders hand over copies of the modes of `own`, a bit for each mode; and of mode `boxed`, whose
   * copy lies in boxes and serves all modes that are not of `own`. -1: there is none. */
  unsigned own;
  int boxed;
  amped_linear linear;    /* where a format asks for one copy; else zeros */
  amped_dense_plan dense; /* where a format asks for cells; else zeros */
  amped_mode_plan modes[AMPED_MAX_ORDER];
} amped_plan;

/* The plan borrows the info's tables and dictionary, which outlive it. On failure there is nothing
 * to free. AMPED_FAILED: sizes that no machine holds. */
amped_status amped_plan_create(amped_plan *plan, const amped_tensor_info *info,
                               const amped_plan_request *request);
void amped_plan_destroy(amped_plan *plan);

/* From now on values are stored by this map. Before anything is prepared for the plan. */
amped_status amped_plan_map_values(amped_plan *plan, amped_value_map map);

/* Change the number of components, and with it ld: rows of 16 bytes, or of whole sectors of 32, and
 * never three sectors of a line of four. More components never have a smaller ld. Placements,
 * splits and packing do not change. */
void amped_plan_set_ncomps(amped_plan *plan, int ncomps);

/* Has mode a sorted copy of its own? */
static inline bool amped_plan_is_own(const amped_plan *plan, int mode) {
  return (plan->own >> mode & 1U) != 0;
}

/* Does the copy in boxes serve mode? */
static inline bool amped_plan_in_boxes(const amped_plan *plan, int mode) {
  return plan->boxed >= 0 && !amped_plan_is_own(plan, mode);
}

/* Do loaders hand over mode's copy? */
static inline bool amped_plan_has_copy(const amped_plan *plan, int mode) {
  return amped_plan_is_own(plan, mode) || mode == plan->boxed;
}

/* The mode whose copy serves mode. */
static inline int amped_plan_copy_of(const amped_plan *plan, int mode) {
  return amped_plan_in_boxes(plan, mode) ? plan->boxed : mode;
}

/* Copies that loaders hand over: one a mode, or less; of cells 0. */
int amped_plan_copies(const amped_plan *plan);

/* A bit for each of so many modes. */
static inline unsigned amped_plan_all_own(int order) {
  return (1U << order) - 1U;
}

/* Nonzeros of mode's copy on this rank up to the end of a part. */
uint64_t amped_plan_part_nnz(const amped_plan *plan, int mode, int part);

/* The row of a file index in mode's factor, in position order. */
static inline uint64_t amped_plan_position(const amped_plan *plan, int mode, uint64_t index) {
  const amped_mode_plan *m = &plan->modes[mode];
  uint64_t idp = index / m->rows.width;
  return m->rows.position[idp] + (index - idp * m->rows.width);
}

/* The position of a row of this rank's MTTKRP result of mode: an own row's, or a shared row's. For
 * formats whose one copy serves all modes. */
uint64_t amped_plan_row_position(const amped_plan *plan, int mode, uint64_t row);

/* Bytes of a factor row. */
static inline uint64_t amped_plan_row_bytes(const amped_plan *plan) {
  return plan->ld * plan->value_type;
}

/* Rows of mode's whole factor in position order: nranks * block_rows. */
uint64_t amped_plan_factor_rows(const amped_plan *plan, int mode);

/* The longest mode but this one, the first of equal ones. */
int amped_plan_longest_other(const amped_plan *plan, int mode);

/* The largest output_rows of all modes. */
uint64_t amped_plan_output_rows(const amped_plan *plan);

/* The most distinct rows of mode's copy on this rank. */
uint64_t amped_plan_copy_rows(const amped_plan *plan, int mode);

/* The number of an iDp among the split iDps; split_count where it is not split. */
uint64_t amped_plan_split_of(const amped_mode_plan *m, uint64_t idp);

/* The number of an iDp's nonzeros that a rank gets: all, or its part of a split iDp. */
uint64_t amped_plan_idp_nnz(const amped_mode_plan *m, int rank, uint64_t idp);

/* Does the iDp lie behind the others of its block? It does if it is split; so does one of fewer
 * indices, so that all others begin at whole widths. */
bool amped_plan_is_late(const amped_mode_plan *m, uint64_t idp);

/* The rank that gets a numbered nonzero of the split iDps. */
int amped_plan_split_rank(const amped_mode_plan *m, int nranks, uint64_t number);

/* The split iDps that a rank has nonzeros of: first .. end. The rank's shared rows are their rows,
 * in order. */
void amped_plan_shared_idps(const amped_mode_plan *m, int rank, uint64_t *first, uint64_t *end);

/* Bytes of the nonzeros of a packed copy for each mode on all ranks, whether or not the plan has
 * them. */
double amped_plan_packed_bytes(const amped_plan *plan);

/* Bytes in memory. One nonzero of a copy before it is packed (row, input positions, value). Mode's
 * packed copy on this rank, with row bits, row list and row table. All factors and the MTTKRP
 * result, the same on every rank. */
uint64_t amped_plan_nonzero_bytes(const amped_plan *plan);
uint64_t amped_plan_copy_bytes(const amped_plan *plan, int mode);
uint64_t amped_plan_factor_bytes(const amped_plan *plan);

/* (max - min) / mean of mode's nonzeros over ranks, in per cent, as in AMPED's figure 8. The second
 * gives the value if GREEDY had split nothing; other placements give the same value. */
double amped_plan_imbalance(const amped_plan *plan, int mode);
double amped_plan_unsplit_imbalance(const amped_plan *plan, int mode);

#endif
