/* Kernels of row fits (backend/row_fit.h). They enqueue their work on a stream and do not wait.
 *
 * Three families. A warp a row, or three or four warps: float, up to 64 or 128 components, a
 * penalty above 0, any signs. They sum the equations with tensor cores, each factor of a product as
 * the sum of two TF32 numbers, which is as good as float, and solve them in registers and shared
 * memory. A thread block a row: everything else, in double.
 *
 * All pointers are device memory, but for fit and packed. */
#ifndef AMPED_ROW_KERNELS_CUDA_H
#define AMPED_ROW_KERNELS_CUDA_H

#include "cuda/complete/row_pieces_cuda.h"
#include "cuda/sorted/pack_cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Most components of rows that warps fit. */
#define AMPED_WIDE_COMPONENTS 128

typedef struct amped_row_kernel_cuda_args {
  const amped_row_fit *fit;
  int mode, inputs, components;
  amped_vtype value_type;
  amped_itype index_type;
  uint64_t ld;
  const void *factors[AMPED_MAX_ORDER - 1]; /* of the input modes, ascending */
  void *own;                                /* the rank's block of the mode's factor */
  const double *base;                       /* of implicit fits: [components][components] */
  const double *empty;                      /* the row without nonzeros: components, and the bias */
  amped_row_fit_sums of_empty;              /* what such a row adds to the sums */
  cudaStream_t stream;

  /* Of a block fit: rows have other columns behind their own, and the sums may leave biases out. */
  bool is_block, hides_biases;

  /* Pieces of a run. */
  const amped_packed_cuda *packed; /* from the run's nonzero on */
  const uint32_t *held;            /* of the whole copy, a bit a nonzero; NULL: none is held out */
  const void *weights;             /* of the whole copy, of value_type; NULL: all are 1 */
  const amped_row_piece_cuda *pieces;
  const uint64_t *strip_ends;
  uint64_t first_strip, strips;    /* of warps */
  uint64_t first_piece, end_piece; /* of thread blocks */
  bool only_failed;                /* thread blocks take the pieces that warps left */
  uint8_t *failed;                 /* [pieces] */

  /* Long rows: their equations are the sums of slots. */
  const amped_long_row_cuda *long_rows;
  uint64_t first_row, end_row;
  double *slots;     /* of amped_equation_length doubles */
  double *equations; /* of as many, one a row */

  double *scratch; /* of thread blocks, so many bytes each */
  uint64_t scratch_bytes;
  amped_row_fit_sums *sums; /* of warps: [all strips], stored; else [AMPED_FIT_BLOCKS], added to */

  double mean_nonzeros; /* of the copy's pieces */
} amped_row_kernel_cuda_args;

#define AMPED_FIT_BLOCKS 1056

/* Bytes of a thread block's scratch, for so many components; and the thread blocks that have it. */
uint64_t amped_row_scratch_cuda_bytes(int components);
uint64_t amped_row_scratch_cuda_blocks(int components);

/* Can warps do it? Positions of 64 bits go to thread blocks: rows wider than 16 components, of more
 * than 2^32, take more memory than a GPU has. */
bool amped_row_warps_cuda_can(const amped_row_kernel_cuda_args *args);
/* Pieces that are whole rows become rows, or failed; others leave their sums in slots. */
amped_status amped_row_warps_cuda(const amped_row_kernel_cuda_args *args);
/* One function for each width, and of the slowest to compile for some orders or for rows with a
 * history, in files of their own. */
amped_status amped_row_warps_16(const amped_row_kernel_cuda_args *args);
amped_status amped_row_warps_16_history(const amped_row_kernel_cuda_args *args);
amped_status amped_row_warps_32_order3(const amped_row_kernel_cuda_args *args);
amped_status amped_row_warps_32_order45(const amped_row_kernel_cuda_args *args);
amped_status amped_row_warps_32_any(const amped_row_kernel_cuda_args *args);
amped_status amped_row_warps_32_history(const amped_row_kernel_cuda_args *args);
amped_status amped_row_warps_64_order3(const amped_row_kernel_cuda_args *args);
amped_status amped_row_warps_64_order45(const amped_row_kernel_cuda_args *args);
amped_status amped_row_warps_64_any(const amped_row_kernel_cuda_args *args);
amped_status amped_row_warps_64_history(const amped_row_kernel_cuda_args *args);
amped_status amped_row_wide_96(const amped_row_kernel_cuda_args *args);
amped_status amped_row_wide_96_history(const amped_row_kernel_cuda_args *args);
amped_status amped_row_wide_128(const amped_row_kernel_cuda_args *args);
amped_status amped_row_wide_128_history(const amped_row_kernel_cuda_args *args);

/* The same by thread blocks. */
amped_status amped_row_blocks_cuda(const amped_row_kernel_cuda_args *args);
/* Rows first_row .. end_row of long_rows become new. */
amped_status amped_row_blocks_finish(const amped_row_kernel_cuda_args *args);
/* equations[0 .. end_row - first_row] = the sums of these long rows' slots. */
amped_status amped_row_blocks_sum(const amped_row_kernel_cuda_args *args);
/* Rows first_row .. end_row of the block become those of equations[0 ..]. */
amped_status amped_row_blocks_solve(const amped_row_kernel_cuda_args *args);

/* Rows of the block become `empty`: those whose bit is set. */
amped_status amped_row_gaps_cuda(const amped_row_kernel_cuda_args *args, const uint32_t *gaps,
                                 uint64_t rows);

/* *out = the sum of so many, in a fixed order. */
amped_status amped_row_sums_cuda(const amped_row_fit_sums *sums, uint64_t count,
                                 amped_row_fit_sums *out, cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
