/* Kernels of block fits (backend/block_fit.h). They enqueue their work on a stream and do not wait.
 *
 * A warp goes through a strip (row_pieces_cuda.h) and updates the targets of 32 consecutive
 * nonzeros at a time, whatever their rows. For a block of one column it also adds up the rows'
 * sums, segment by segment, and the lane of a row's last nonzero solves the row. Additions follow
 * the order of the nonzeros, so results have the same bits every time.
 *
 * All pointers are device memory, except `fit` and the members of it that row_kernels_cuda.h
 * names. */
#ifndef AMPED_BLOCK_KERNELS_CUDA_H
#define AMPED_BLOCK_KERNELS_CUDA_H

#include "cuda/complete/row_kernels_cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct amped_block_kernel_cuda_args {
  const amped_row_kernel_cuda_args *fit; /* row fit of the block's columns; fit->fit has the values'
                                            mean */
  int width;
  void *kept;       /* targets of the whole copy */
  const void *rows; /* mode's rows of columns, by position */
  uint64_t block_first, block_rows;
  const uint64_t *positions; /* positions of shared rows, which follow the block's rows */

  /* A first block, whose targets are made from the factors. */
  bool makes;
  const void *factor;                     /* mode's factor */
  const void *whole[AMPED_MAX_ORDER - 1]; /* factors of the input modes */
  uint64_t whole_ld;
  int first, components; /* first column of the block; components of the factors */
} amped_block_kernel_cuda_args;

/* Update the targets of a run's nonzeros for the current block (s in block_fit.h). */
amped_status amped_block_targets_cuda(const amped_block_kernel_cuda_args *args);

/* For a block of one column: update the targets, except in a first block, and fit the run's pieces.
 * Whole rows are solved; other pieces leave sums in slots. fit->sums has one entry per strip. */
amped_status amped_block_column_cuda(const amped_block_kernel_cuda_args *args);

/* Return a mode's old columns to the factor and take the new ones (block_fit.h: take). */
typedef struct amped_block_take_cuda_args {
  amped_vtype value_type;
  void *factor, *rows;
  uint64_t positions, factor_ld, ld;
  int width, bias; /* bias: its column in the factor; 0: none */
  int old_first, old_count, first, count;
  cudaStream_t stream;
} amped_block_take_cuda_args;
amped_status amped_block_take_cuda(const amped_block_take_cuda_args *args);

#ifdef __cplusplus
}
#endif

#endif
