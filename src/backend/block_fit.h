/* Block fit: row fits (row_fit.h) of a block of columns, while the other columns stay. Completion
 * by blocks of B columns has them; with B = 1 it is CCD++. An optional part of a tensor format,
 * with its own table of operations, next to row fits.
 *
 * Each copy keeps a target s for every nonzero: y without the products of the components that are
 * not in the block. A fit of mode's rows goes over the copy once. It brings s up to date, solves
 * the rows of the block, and leaves s behind:
 *
 *     s = y - model without biases and without the block's components    in the first block
 *     s = s - (product of `before`) + (product of `start`)               else
 *
 * where `before` are the columns of the block before, as that left them, and `start` those of this
 * block, as they were when it was taken: products over all modes, summed over columns. A row's
 * equations are those of row_fit.h, with the block's columns as components and t = s without the
 * biases of the inputs. So a bias is solved for with every block. Fits are never implicit.
 *
 * Columns: the block's columns of all modes are a factor set of their own, for a plan that has
 * amped_block_row_length columns and is else the same. A row is
 *
 *     now[count], bias, zeros up to width + 1, before[width], start[width]
 *
 * without bias its place is 0. `count` columns are in hand, at most `width`; before and start are
 * zeros behind theirs. A fit writes own rows' now and bias. The caller exchanges them.
 *
 * Sources: Yu, Hsieh, Si, Dhillon, "Scalable coordinate descent approaches to parallel matrix
 * factorization for recommender systems", ICDM 2012; Karlsson, Kressner, Uschmajew, "Parallel
 * algorithms for tensor completion in the CP format", Parallel Computing 2016. Not collective. */
#ifndef AMPED_BLOCK_FIT_H
#define AMPED_BLOCK_FIT_H

#include "backend/row_fit.h"

static inline int amped_block_row_length(int width) {
  return 3 * width + 1;
}

struct amped_factor_set;
typedef struct amped_block_fit amped_block_fit;

typedef struct amped_block_fit_ops {
  /* Bytes that create takes, beside the set of columns. */
  void (*require)(const struct amped_device *device, const amped_plan *plan, int width,
                  uint64_t *device_bytes, uint64_t *host_bytes);
  /* After row fits were prepared. The part, the set and its plan outlive the block fit. On failure
   * there is nothing to free. */
  amped_status (*create)(struct amped_tensor_part *part, struct amped_factor_set *set,
                         const amped_plan *columns, int width, amped_block_fit **out);
  void (*destroy)(amped_block_fit *b); /* NULL is allowed */

  /* Columns first .. first + count of all factors are in hand from now on, and biases where they
   * are biased: whole factors, which are current on this rank. What was in hand goes back to the
   * factors before: whole columns and biases. count = 0: nothing is in hand. A block that follows
   * nothing is a first block. */
  amped_status (*take)(amped_block_fit *b, bool biased, int first, int count);

  /* As those of row fits, for the columns in hand; each mode once a block, in any order. The
   * penalty of biases is told with the factors' last component alone. Equations are of count
   * components. get_equations is called for every shared row once. */
  amped_status (*begin)(amped_block_fit *b, int mode, const amped_row_fit *fit);
  amped_status (*wait)(amped_block_fit *b, int mode, int block_part,
                       struct amped_mttkrp_times *times, amped_row_fit_sums *sums);
  amped_status (*get_equations)(amped_block_fit *b, int mode, uint64_t row, uint64_t count,
                                double *equations);
  amped_status (*put_equations)(amped_block_fit *b, int mode, uint64_t row, uint64_t count,
                                const double *equations);
  amped_status (*solve_shared)(amped_block_fit *b, int mode, amped_row_fit_sums *sums);
} amped_block_fit_ops;

#endif
