/* Rows of blocks (backend/dense_block.h) on a GPU: copies from and to factors, grams, new rows.
 * Rows have ld elements of the value type; padding is zero. Products and sums are computed in
 * double. Their order depends only on the sizes. Pointers d_ are device memory. Nothing waits. */
#ifndef AMPED_BLOCK_ROWS_CUDA_H
#define AMPED_BLOCK_ROWS_CUDA_H

#include "cuda/device/device_cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Rows of one mode. Block b has rows d_first[b] .. d_first[b + 1] - 1, at most `most`. */
typedef struct amped_block_rows_cuda {
  amped_vtype value_type;
  int ncomps;
  uint64_t ld;
  uint64_t count; /* number of blocks */
  uint64_t most;
  const uint64_t *d_first; /* [count + 1] */
  void *d_rows;
  cudaStream_t stream;
} amped_block_rows_cuda;

/* take: row i = row d_positions[i] of the factor. put: row d_positions[i] of the factor = row i of
 * d_from, which has ncomps doubles per row. */
amped_status amped_block_rows_cuda_take(const amped_block_rows_cuda *b, uint64_t rows,
                                        const void *d_factor, const uint64_t *d_positions);
amped_status amped_block_rows_cuda_put(const amped_block_rows_cuda *b, uint64_t rows,
                                       const double *d_from, const uint64_t *d_positions,
                                       void *d_factor);

/* Convert rows to and from doubles, ncomps per row. */
amped_status amped_block_rows_cuda_widen(const amped_block_rows_cuda *b, uint64_t rows,
                                         const void *d_rows, double *d_out);
amped_status amped_block_rows_cuda_narrow(const amped_block_rows_cuda *b, uint64_t rows,
                                          const double *d_from, void *d_rows);

/* d_grams = the gram of each block's rows. d_partials: workspace of the returned number of doubles,
 * enough for at most `count` blocks of at most `most` rows. */
uint64_t amped_block_grams_cuda_room(uint64_t count, uint64_t most, int ncomps);
amped_status amped_block_grams_cuda(const amped_block_rows_cuda *b, double *d_grams,
                                    double *d_partials);

/* Each block's rows = sums * p + rows * keep. d_moved receives two sums for each of
 * amped_block_rows_cuda_parts parts of all rows: of the squared changes, and of the squares of the
 * old rows. `count` blocks or fewer have at most amped_block_rows_cuda_most_parts parts. */
uint64_t amped_block_rows_cuda_parts(const amped_block_rows_cuda *b);
uint64_t amped_block_rows_cuda_most_parts(uint64_t count);
amped_status amped_block_rows_cuda_solve(const amped_block_rows_cuda *b, const void *d_sums,
                                         const double *d_p, const double *d_keep, double *d_moved);

/* Each row at d_sums += d_weight of its block * the same row of b. */
amped_status amped_block_rows_cuda_pull(const amped_block_rows_cuda *b, const double *d_weight,
                                        void *d_sums);
/* The two sums of amped_block_rows_cuda_solve, from the new rows and the old ones at d_before. */
amped_status amped_block_rows_cuda_moved(const amped_block_rows_cuda *b, const void *d_before,
                                         double *d_moved);

#ifdef __cplusplus
}
#endif

#endif
