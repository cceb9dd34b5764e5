/* Kernels of row steps (backend/row_steps.h). They enqueue their work on a stream and do not wait.
 * All pointers are device memory, except fit and packed. */
#ifndef AMPED_STEP_KERNELS_CUDA_H
#define AMPED_STEP_KERNELS_CUDA_H

#include "cuda/sorted/pack_cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Piece of an entry of the row list: number `piece` of `pieces`, from 0. */
typedef struct amped_step_piece_cuda {
  uint64_t entry;
  uint32_t piece, pieces;
} amped_step_piece_cuda;

/* Row of several pieces, or a shared row. Its results are in slots first .. first + count. */
typedef struct amped_step_row_cuda {
  uint64_t entry;
  uint64_t first, count;
} amped_step_row_cuda;

/* Thread blocks of a traversal, at most; each leaves its sums in a place of its own. */
#define AMPED_STEP_BLOCKS 16384

typedef struct amped_step_kernel_cuda_args {
  const amped_row_fit *fit;
  int mode, inputs, ncomps;
  int multiprocessors;
  uint64_t ld;
  const amped_packed_cuda *packed; /* the whole copy */
  const void *factors[AMPED_MAX_ORDER - 1];
  void *factor;                  /* mode's factor */
  uint64_t block_first;          /* position of the first own row */
  uint64_t block_rows;           /* own rows of the MTTKRP result; shared ones follow */
  const uint64_t *shared_at;     /* positions of the shared rows */
  const uint32_t *held;          /* one bit per nonzero; NULL: none is held out */
  const uint64_t *begins;        /* [entries + 1] first nonzero of each entry */
  const uint64_t *whole;         /* n of shared rows, over all ranks */
  uint64_t *counts;              /* [entries] n */
  uint64_t entries, own_entries; /* entries of own rows come first */
  const amped_step_piece_cuda *pieces;
  uint64_t piece_count;
  const amped_step_row_cuda *rows; /* own rows first */
  uint64_t row_count, own_rows;
  double *results;           /* [pieces][ncomps + 1]: a result, and its number of nonzeros */
  double *shared;            /* [row_count - own_rows][ncomps + 1] */
  amped_row_step_sums *sums; /* [3][AMPED_STEP_BLOCKS]: traversal, rows that stay, long rows */
  double step;
  amped_step_order order;
  cudaStream_t stream;
} amped_step_kernel_cuda_args;

/* Set counts to each entry's nonzeros that are not held out. all_ranks: shared rows get theirs from
 * `whole`. */
amped_status amped_step_counts_cuda(const amped_step_kernel_cuda_args *args, bool all_ranks);
/* A pass: own rows take their steps, and pieces leave results; then long rows become the means of
 * their results, and the results of shared rows are added up. float and double have files of their
 * own. */
amped_status amped_step_traversal_f32(const amped_step_kernel_cuda_args *args);
amped_status amped_step_traversal_f64(const amped_step_kernel_cuda_args *args);
/* Set own rows first .. first + count of the block from their sums over all ranks, rows
 * [count][ncomps + 1]. args->sums gets its sums in the place of a traversal's. */
amped_status amped_step_put_f32(const amped_step_kernel_cuda_args *args, uint64_t first,
                                uint64_t count, const double *rows);
amped_status amped_step_put_f64(const amped_step_kernel_cuda_args *args, uint64_t first,
                                uint64_t count, const double *rows);

#ifdef __cplusplus
}
#endif

#endif
