/* Kernels of block fits (backend/block_fit.h). They enqueue their work on a stream and do not wait.
 *
 * A warp takes a strip (row_pieces_cuda.h), 32 consecutive nonzeros at a time, of whatever rows. It
 * brings their targets up to date. Where a block is one column it also adds up the rows' sums,
 * segment by segment, and the lane of a row's last nonzero solves the row. The order of additions
 * is that of the nonzeros: the same bits every time.
 *
 * All pointers are device memory, but for `fit` and what it says. */
#ifndef AMPED_BLOCK_KERNELS_CUDA_H
#define AMPED_BLOCK_KERNELS_CUDA_H

#include "cuda/complete/row_kernels_cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct amped_block_kernel_cuda_args {
  const amped_row_kernel_cuda_args *fit; /* of rows of columns; its fit has the values' mean */
  int width;
  void *kept;       /* targets of the whole copy */
  const void *rows; /* mode's rows of columns, by position */
  uint64_t block_first, block_rows;
  const uint64_t *positions; /* of shared rows, behind the block's */

  /* A first block: targets are made from the factors. */
  bool makes;
  const void *factor;                     /* mode's */
  const void *whole[AMPED_MAX_ORDER - 1]; /* of the input modes */
  uint64_t whole_ld;
  int first, components; /* the columns in hand are from `first` on */
} amped_block_kernel_cuda_args;

/* The targets of a run's nonzeros become those of the block. */
amped_status amped_block_targets_cuda(const amped_block_kernel_cuda_args *args);

/* One column: that, unless they were made just now, and the run's pieces become rows or slots.
 * fit->sums has a place for each strip. */
amped_status amped_block_column_cuda(const amped_block_kernel_cuda_args *args);

/* Columns of a mode change hands (block_fit.h: take). */
typedef struct amped_block_take_cuda_args {
  amped_vtype value_type;
  void *factor, *rows;
  uint64_t positions, factor_ld, ld;
  int width, bias; /* bias: its column in the factor; 0: there is none */
  int old_first, old_count, first, count;
  cudaStream_t stream;
} amped_block_take_cuda_args;
amped_status amped_block_take_cuda(const amped_block_take_cuda_args *args);

#ifdef __cplusplus
}
#endif

#endif
