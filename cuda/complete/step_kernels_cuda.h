/* Kernels of row steps (backend/row_steps.h). They enqueue their work on a stream and do not wait.
 * All pointers are device memory, but for fit and packed. */
#ifndef AMPED_STEP_KERNELS_CUDA_H
#define AMPED_STEP_KERNELS_CUDA_H

#include "cuda/sorted/pack_cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A piece of an entry of the row list. */
typedef struct amped_step_piece_cuda {
  uint64_t entry;
  uint32_t piece, pieces;
} amped_step_piece_cuda;

/* A row of several pieces, or a shared one: its results are slots first .. first + count. */
typedef struct amped_step_row_cuda {
  uint64_t entry;
  uint64_t first, count;
} amped_step_row_cuda;

/* Thread blocks of a walk at most; each leaves its sums in a place of its own. */
#define AMPED_STEP_BLOCKS 16384

typedef struct amped_step_kernel_cuda_args {
  const amped_row_fit *fit;
  int mode, inputs, ncomps;
  int multiprocessors;
  uint64_t ld;
  const amped_packed_cuda *packed; /* the whole copy */
  const void *factors[AMPED_MAX_ORDER - 1];
  void *factor;                  /* of the mode */
  uint64_t block_first;          /* position of the first own row */
  uint64_t block_rows;           /* own rows of the MTTKRP result; shared ones follow */
  const uint64_t *shared_at;     /* their positions */
  const uint32_t *held;          /* a bit a nonzero; NULL: none is held out */
  const uint64_t *begins;        /* [entries + 1] first nonzero of each entry */
  const uint64_t *whole;         /* n of shared rows */
  uint64_t *counts;              /* [entries] n */
  uint64_t entries, own_entries; /* the first ones are those of own rows */
  const amped_step_piece_cuda *pieces;
  uint64_t piece_count;
  const amped_step_row_cuda *rows; /* own ones first */
  uint64_t row_count, own_rows;
  double *results;           /* [pieces][ncomps + 1]: a result, and its nonzeros */
  double *shared;            /* [row_count - own_rows][ncomps + 1] */
  amped_row_step_sums *sums; /* [3][AMPED_STEP_BLOCKS]: of walks, of rows that stay, of long rows */
  double step;
  amped_step_order order;
  cudaStream_t stream;
} amped_step_kernel_cuda_args;

/* counts = nonzeros that are not held out; with all_ranks those of shared rows come from whole. */
amped_status amped_step_counts_cuda(const amped_step_kernel_cuda_args *args, bool all_ranks);
/* A pass over own rows, and the results of pieces; then long rows become new and shared ones are
 * added up. float and double are in files of their own. */
amped_status amped_step_walk_f32(const amped_step_kernel_cuda_args *args);
amped_status amped_step_walk_f64(const amped_step_kernel_cuda_args *args);
/* Own rows first .. first + count of the block become those of sums [count][ncomps + 1]. Sums
 * are those of walks. */
amped_status amped_step_put_f32(const amped_step_kernel_cuda_args *args, uint64_t first,
                                uint64_t count, const double *rows);
amped_status amped_step_put_f64(const amped_step_kernel_cuda_args *args, uint64_t first,
                                uint64_t count, const double *rows);

#ifdef __cplusplus
}
#endif

#endif
