/* Kernels of row fits (backend/row_fit.h). They enqueue their work on a stream and do not wait.
 *
 * Three families:
 * - one warp per row: float, up to 64 components, a penalty above 0, any signs
 * - three or four warps per row: the same for up to 96 or 128 components
 * - one thread block per row: everything else, in double.
 *
 * Warps sum the equations with tensor cores and solve them in registers and shared memory. Each
 * factor of a product is the sum of two TF32 numbers, which is as good as float.
 *
 * All pointers are device memory, except fit and packed. */
#ifndef AMPED_ROW_KERNELS_CUDA_H
#define AMPED_ROW_KERNELS_CUDA_H

#include "cuda/complete/row_pieces_cuda.h"
#include "cuda/sorted/pack_cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Components of rows that warps can fit, at most. */
#define AMPED_WIDE_COMPONENTS 128

typedef struct amped_row_kernel_cuda_args {
  const amped_row_fit *fit;
  int mode, inputs, components;
  amped_vtype value_type;
  amped_itype index_type;
  uint64_t ld;
  const void *factors[AMPED_MAX_ORDER - 1]; /* factors of the input modes, modes ascending */
  void *own;                                /* the rank's block of the mode's factor */
  const double *base;                       /* implicit: sums over all cells,
                                               [components][components] */
  const double *empty;                      /* row for rows without nonzeros: components, then the
                                               bias */
  amped_row_fit_sums of_empty;              /* contribution of such a row to the sums */
  cudaStream_t stream;

  /* is_block: rows of a block fit, which have other columns after their own. hides_biases: the sums
   * leave out the penalty of biases. */
  bool is_block, hides_biases;

  /* Pieces of a run. */
  const amped_packed_cuda *packed; /* nonzeros from the run's `nonzero` on */
  const uint32_t *held;            /* one bit per nonzero of the copy; NULL: none is held out */
  const void *weights;             /* weights of the copy's nonzeros, in value_type; NULL: all are
                                      1 */
  const amped_row_piece_cuda *pieces;
  const uint64_t *strip_ends;
  uint64_t first_strip, strips;    /* for warps */
  uint64_t first_piece, end_piece; /* for thread blocks */
  bool only_failed;                /* thread blocks fit only the pieces that are set in `failed` */
  uint8_t *failed;                 /* [pieces] 1: warps could not solve the row */

  /* Long rows, whose equations are the sums of their slots. */
  const amped_long_row_cuda *long_rows;
  uint64_t first_row, end_row;
  double *slots;     /* [slots][amped_equation_length] */
  double *equations; /* [rows][amped_equation_length] */

  double *scratch; /* scratch_bytes for each thread block */
  uint64_t scratch_bytes;
  amped_row_fit_sums *sums; /* warps store one entry per strip of the copy; thread blocks add to
                               AMPED_FIT_BLOCKS entries */

  double mean_nonzeros; /* nonzeros per piece of the copy, on average */
} amped_row_kernel_cuda_args;

#define AMPED_FIT_BLOCKS 1056

/* Bytes of scratch memory per thread block, and the number of thread blocks that have it, for rows
 * of `components`. 0 bytes: shared memory is enough. */
uint64_t amped_row_scratch_cuda_bytes(int components);
uint64_t amped_row_scratch_cuda_blocks(int components);

/* True if warps can fit these rows. Positions of 64 bits are left to thread blocks: 2^32 rows of
 * more than 16 components take more memory than a GPU has. */
bool amped_row_warps_cuda_can(const amped_row_kernel_cuda_args *args);
/* Fit the run's pieces with warps. Pieces that are whole rows are solved, or marked in `failed`;
 * other pieces leave their sums in slots. */
amped_status amped_row_warps_cuda(const amped_row_kernel_cuda_args *args);
/* Instances by row width, each in a file of its own. The slowest to compile are split further, by
 * the tensor's order and by whether rows have a history. */
amped_status amped_row_warps_16(const amped_row_kernel_cuda_args *args);
amped_status amped_row_warps_16_history(const amped_row_kernel_cuda_args *args);
amped_status amped_row_warps_32_order3(const amped_row_kernel_cuda_args *args);
amped_status amped_row_warps_32_order45(const amped_row_kernel_cuda_args *args);
amped_status amped_row_warps_32_any(const amped_row_kernel_cuda_args *args);
amped_status amped_row_warps_32_history(const amped_row_kernel_cuda_args *args);
amped_status amped_row_warps_64_order3(const amped_row_kernel_cuda_args *args);
amped_status amped_row_warps_64_order4(const amped_row_kernel_cuda_args *args);
amped_status amped_row_warps_64_order5(const amped_row_kernel_cuda_args *args);
amped_status amped_row_warps_64_any(const amped_row_kernel_cuda_args *args);
amped_status amped_row_warps_64_history(const amped_row_kernel_cuda_args *args);
amped_status amped_row_wide_96(const amped_row_kernel_cuda_args *args);
amped_status amped_row_wide_96_history(const amped_row_kernel_cuda_args *args);
amped_status amped_row_wide_128(const amped_row_kernel_cuda_args *args);
amped_status amped_row_wide_128_history(const amped_row_kernel_cuda_args *args);

/* Fit the run's pieces with thread blocks, in double. */
amped_status amped_row_blocks_cuda(const amped_row_kernel_cuda_args *args);
/* Solve and store rows first_row .. end_row of long_rows from the sums of their slots. */
amped_status amped_row_blocks_finish(const amped_row_kernel_cuda_args *args);
/* equations[0 .. end_row - first_row] = sums of the slots of these long rows. */
amped_status amped_row_blocks_sum(const amped_row_kernel_cuda_args *args);
/* Solve and store rows first_row .. end_row of the block from equations[0 ..]. */
amped_status amped_row_blocks_solve(const amped_row_kernel_cuda_args *args);

/* Store `empty` in each row of the block whose bit in `empty_rows` is set. rows: rows of the block.
 */
amped_status amped_empty_rows_cuda(const amped_row_kernel_cuda_args *args,
                                   const uint32_t *empty_rows, uint64_t rows);

/* *out = sum of sums[0 .. count], added in a fixed order. */
amped_status amped_row_sums_cuda(const amped_row_fit_sums *sums, uint64_t count,
                                 amped_row_fit_sums *out, cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
