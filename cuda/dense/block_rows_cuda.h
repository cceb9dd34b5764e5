/* Rows of blocks (backend/dense_block.h) on a GPU: copies from and to factors, grams, new rows.
 * Rows have ld elements of the value type, padding zero. Products and sums are made in double, in
 * an order that the sizes alone fix. Pointers d_ are device memory. Nothing waits. */
#ifndef AMPED_BLOCK_ROWS_CUDA_H
#define AMPED_BLOCK_ROWS_CUDA_H

#include "cuda/device/device_cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Rows of one mode: those of block b are d_first[b] .. d_first[b + 1] - 1, at most `most`. */
typedef struct amped_block_rows_cuda {
  amped_vtype value_type;
  int ncomps;
  uint64_t ld;
  uint64_t count; /* of blocks */
  uint64_t most;
  const uint64_t *d_first; /* [count + 1] */
  void *d_rows;
  cudaStream_t stream;
} amped_block_rows_cuda;

/* Row i = row d_positions[i] of the factor. And back, of doubles, ncomps each: row d_positions[i]
 * of the factor = row i. */
amped_status amped_block_rows_cuda_take(const amped_block_rows_cuda *b, uint64_t rows,
                                        const void *d_factor, const uint64_t *d_positions);
amped_status amped_block_rows_cuda_put(const amped_block_rows_cuda *b, uint64_t rows,
                                       const double *d_from, const uint64_t *d_positions,
                                       void *d_factor);

/* Rows at d_rows to and from doubles, ncomps each. */
amped_status amped_block_rows_cuda_widen(const amped_block_rows_cuda *b, uint64_t rows,
                                         const void *d_rows, double *d_out);
amped_status amped_block_rows_cuda_narrow(const amped_block_rows_cuda *b, uint64_t rows,
                                          const double *d_from, void *d_rows);

/* d_grams = the gram of each block's rows; d_partials has room for so many doubles, of so many
 * blocks and rows of a block or fewer. */
uint64_t amped_block_grams_cuda_room(uint64_t count, uint64_t most, int ncomps);
amped_status amped_block_grams_cuda(const amped_block_rows_cuda *b, double *d_grams,
                                    double *d_partials);

/* Each block's rows = sums * p + rows * keep. Two sums for each of amped_block_rows_cuda_parts
 * parts of all rows go to d_moved: of squares of how far rows moved, and of the rows as they were.
 * Parts of so many blocks or fewer are most_parts at most. */
uint64_t amped_block_rows_cuda_parts(const amped_block_rows_cuda *b);
uint64_t amped_block_rows_cuda_most_parts(uint64_t count);
amped_status amped_block_rows_cuda_solve(const amped_block_rows_cuda *b, const void *d_sums,
                                         const double *d_p, const double *d_keep, double *d_moved);

/* Rows at d_sums += weight of their block * rows. */
amped_status amped_block_rows_cuda_pull(const amped_block_rows_cuda *b, const double *d_weight,
                                        void *d_sums);
/* The two sums, of rows that are new and as they were. */
amped_status amped_block_rows_cuda_moved(const amped_block_rows_cuda *b, const void *d_before,
                                         double *d_moved);

#ifdef __cplusplus
}
#endif

#endif
