/* Dense blocks: blocks of a dense tensor's cells, and least squares for the factor rows that belong
 * to them, one mode at a time. An optional part of a tensor format, with its own table of
 * operations. Randomised block sampling (solver/cpd/cpd_rbs.h) updates factors from such blocks
 * alone.
 *
 * A block has some indices of every mode, scattered or all, and the cells at all their
 * combinations. Several blocks are held at once. Each block has its own copy of its cells, in the
 * tensor's layout, and of its rows of all factors. MTTKRP, grams and rows of a block use this copy
 * alone, as if it were a whole tensor. Therefore blocks that share no index of a mode are
 * independent of each other. Only put_rows changes the factor set.
 *
 * Indices are the file's, ascending in each block. R x R matrices and rows are doubles in host
 * memory, row-major: one matrix per block, one after another; the rows of block after block, ncomps
 * numbers per row. Not collective. Every function has finished its work when it returns. */
#ifndef AMPED_DENSE_BLOCK_H
#define AMPED_DENSE_BLOCK_H

#include "plan/plan.h"

struct amped_device;
struct amped_products; /* sums of x x and x m (backend.h) */
struct amped_factor_set;
struct amped_tensor_part;
typedef struct amped_dense_blocks amped_dense_blocks;

/* Limits of the blocks held at once: number of blocks, and indices of each mode per block. */
typedef struct amped_block_shape {
  uint64_t count;
  uint64_t dims[AMPED_MAX_ORDER];
  bool given; /* cells always come from take's caller */
  int kept;   /* a mode with few indices in a block, never contracted first by itself: that result
                 would be as large as one slice per component; -1: none. A matrix has none,
                 because an update contracts its only other mode */
} amped_block_shape;

/* The indices of blocks 0 .. count - 1 in mode m. Block b has indices[m][first[m][b]] ..
 * indices[m][first[m][b + 1] - 1]. A block may be empty. */
typedef struct amped_block_sets {
  uint64_t count;
  const uint64_t *indices[AMPED_MAX_ORDER];
  const uint64_t *first[AMPED_MAX_ORDER]; /* [count + 1] */
} amped_block_sets;

/* Sums over rows. moved: squares of their changes. size: squares of the old rows. */
typedef struct amped_rows_moved {
  double moved, size;
} amped_rows_moved;

typedef struct amped_dense_block_ops {
  /* Adds the bytes that create takes for at most plan->ncomps components. AMPED_FAILED if no
   * machine can hold the sizes. */
  amped_status (*require)(const struct amped_device *device, const amped_plan *plan,
                          const amped_block_shape *shape, uint64_t *device_bytes,
                          uint64_t *host_bytes);
  /* Part and factors outlive the blocks. On failure there is nothing to free. */
  amped_status (*create)(struct amped_tensor_part *part, const amped_block_shape *shape,
                         amped_dense_blocks **out);
  void (*destroy)(amped_dense_blocks *blocks); /* NULL is allowed */

  /* Load the blocks of these sets, which fit the shape: cells, and current rows of the factors.
   * cells NULL: copy from the part's slab, which has all indices of the sets. Else: the cells of
   * the only block, in the tensor's layout and type, in host memory that stays unchanged until the
   * next take. */
  amped_status (*take)(amped_dense_blocks *blocks, const amped_block_sets *sets, const void *cells);
  /* sums = MTTKRP of mode of each block. Sums of one mode are held at a time. */
  amped_status (*mttkrp)(amped_dense_blocks *blocks, int mode);
  amped_status (*get_sums)(amped_dense_blocks *blocks, double *sums);
  amped_status (*put_sums)(amped_dense_blocks *blocks, const double *sums);
  /* grams = Gram matrices of each block's rows of mode. */
  amped_status (*grams)(amped_dense_blocks *blocks, int mode, double *grams);
  /* Rows of mode, after its mttkrp = sums * p + old rows * keep, with p and keep of each block. The
   * sums over all these rows are added to *moved. */
  amped_status (*solve)(amped_dense_blocks *blocks, int mode, const double *p, const double *keep,
                        amped_rows_moved *moved);
  /* Alternative to solve: nonnegative rows near the minimum of
   *
   *     a V a^T / 2 - (sums + weight * old row) a^T
   *
   * by row descent (row_descent.h), with V and weight of each block. */
  amped_status (*descend)(amped_dense_blocks *blocks, int mode, const double *v,
                          const double *weight, amped_rows_moved *moved);
  amped_status (*get_rows)(amped_dense_blocks *blocks, int mode, double *rows);

  /* Write the rows at these indices to the factor set. */
  amped_status (*put_rows)(amped_dense_blocks *blocks, int mode, uint64_t count,
                           const uint64_t *indices, const double *rows);
  /* Read cells of the part's slab, at indices[m][i] in mode m. */
  amped_status (*get_cells)(amped_dense_blocks *blocks, uint64_t count,
                            const uint64_t *const *indices, double *cells);
  /* misses[i] = cells[i] - model. The model's value at indices[m][i] is the sum over components of
   * weights[r] times the factors' entries. */
  amped_status (*misses)(amped_dense_blocks *blocks, uint64_t count, const uint64_t *const *indices,
                         const double *cells, const double *weights, double *misses);
  /* Sums over all cells of the current blocks, each times `scale`, which is x. Its model value m is
   * the sum over components of weights[r] times the entries of the block's rows. */
  amped_status (*products)(amped_dense_blocks *blocks, double scale, const double *weights,
                           struct amped_products *out);
} amped_dense_block_ops;

#endif
