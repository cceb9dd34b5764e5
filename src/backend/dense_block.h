/* Dense blocks: blocks of a dense tensor's cells, and least squares of the rows of factors that
 * belong to them, one mode at a time. An optional part of a tensor format, with its own table of
 * operations. Randomised block sampling (solver/cpd_rbs.h) updates factors from such blocks alone.
 *
 * A block has some indices of every mode, scattered or all, and the cells at all their
 * combinations. Blocks in hand are as many as fit; each has its own copy of its cells, in the
 * tensor's layout, and of its rows of all factors. MTTKRP, grams and rows of a block are of that
 * copy alone, as if it were a whole tensor. So blocks that share no index of a mode are independent
 * of each other. The factor set changes where put_rows says so.
 *
 * Indices are those of the file, ascending in each block. R x R matrices and rows are doubles in
 * host memory, row-major: a matrix a block, one after another; rows of all blocks, one block after
 * another, ncomps numbers each. Not collective. Every function has finished its work when it
 * returns. */
#ifndef AMPED_DENSE_BLOCK_H
#define AMPED_DENSE_BLOCK_H

#include "plan/plan.h"

struct amped_device;
struct amped_factor_set;
struct amped_tensor_part;
typedef struct amped_dense_blocks amped_dense_blocks;

/* Room for so many blocks with so many indices of each mode, at most. */
typedef struct amped_block_shape {
  uint64_t count;
  uint64_t dims[AMPED_MAX_ORDER];
  bool brought; /* cells are always those of take's caller */
  int kept;     /* a mode with few of its indices, which is never the only one that is contracted
                   first: sums over it alone would be as large as a slice for each component; -1:
                   there is none */
} amped_block_shape;

/* The indices of blocks 0 .. count - 1 in mode m: those of block b are indices[m][first[m][b]] ..
 * indices[m][first[m][b + 1] - 1]. A block may have none. */
typedef struct amped_block_sets {
  uint64_t count;
  const uint64_t *indices[AMPED_MAX_ORDER];
  const uint64_t *first[AMPED_MAX_ORDER]; /* [count + 1] */
} amped_block_sets;

/* Sums over rows: of squares of how far they moved, and of the rows as they were. */
typedef struct amped_rows_moved {
  double moved, size;
} amped_rows_moved;

typedef struct amped_dense_block_ops {
  /* Adds the bytes that create takes for plan->ncomps components or fewer. AMPED_FAILED: sizes that
   * no machine holds. */
  amped_status (*require)(const struct amped_device *device, const amped_plan *plan,
                          const amped_block_shape *shape, uint64_t *device_bytes,
                          uint64_t *host_bytes);
  /* Part and factors outlive the blocks. On failure there is nothing to free. */
  amped_status (*create)(struct amped_tensor_part *part, const amped_block_shape *shape,
                         amped_dense_blocks **out);
  void (*destroy)(amped_dense_blocks *blocks); /* NULL is allowed */

  /* Blocks of these sets are in hand: cells, and rows as the factors have them. Sets fit the shape.
   * cells NULL: from the part's slab, which has all indices of the sets. Else the cells of the only
   * block, in the tensor's layout and type, in host memory that stays as it is until the next take.
   */
  amped_status (*take)(amped_dense_blocks *blocks, const amped_block_sets *sets, const void *cells);
  /* Sums = MTTKRP of mode of each block. There are sums of one mode at a time. */
  amped_status (*mttkrp)(amped_dense_blocks *blocks, int mode);
  amped_status (*get_sums)(amped_dense_blocks *blocks, double *sums);
  amped_status (*put_sums)(amped_dense_blocks *blocks, const double *sums);
  /* Of each block's rows of mode. */
  amped_status (*grams)(amped_dense_blocks *blocks, int mode, double *grams);
  /* Rows of mode, after its mttkrp = sums * p + rows as they were * keep, p and keep each block's
   * own. The sums over all these rows are added to *moved. */
  amped_status (*solve)(amped_dense_blocks *blocks, int mode, const double *p, const double *keep,
                        amped_rows_moved *moved);
  /* Instead: the nonnegative rows near the least of
   *     a V a^T / 2 - (sums + weight * row as it was) a^T
   * by row descent (row_descent.h) with this V of each block and this weight. */
  amped_status (*descend)(amped_dense_blocks *blocks, int mode, const double *v,
                          const double *weight, amped_rows_moved *moved);
  amped_status (*get_rows)(amped_dense_blocks *blocks, int mode, double *rows);

  /* Rows of these indices, to the factor set. */
  amped_status (*put_rows)(amped_dense_blocks *blocks, int mode, uint64_t count,
                           const uint64_t *indices, const double *rows);
  /* Cells of the part's slab, at indices[m][i] in mode m. */
  amped_status (*get_cells)(amped_dense_blocks *blocks, uint64_t count,
                            const uint64_t *const *indices, double *cells);
  /* *squares = sum over i of (cells[i] - model)^2, where the model's value at indices[m][i] is the
   * sum over components of weights[r] times the factors' entries. Summed in an order that count
   * alone fixes. */
  amped_status (*misfit)(amped_dense_blocks *blocks, uint64_t count, const uint64_t *const *indices,
                         const double *cells, const double *weights, double *squares);
} amped_dense_block_ops;

#endif
