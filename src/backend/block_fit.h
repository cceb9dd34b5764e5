/* Block fit: row fits (row_fit.h) of a block of columns, while the other columns stay fixed.
 * Completion by blocks of B columns uses them; B = 1 is CCD++. An optional part of a tensor format,
 * with its own table of operations, next to row fits.
 *
 * Each copy keeps a target s for every nonzero: y minus the products of the components outside the
 * block. A fit of mode's rows traverses the copy once: it updates s, solves the rows of the block,
 * and stores s:
 *
 *     s = y - model without biases and without the block's components    in the first block
 *     s = s - (product of `before`) + (product of `start`)               else
 *
 * `before`: the previous block's columns, with their final values. `start`: this block's columns,
 * with the values at take. Products are over all modes, summed over columns. A row's equations are
 * as in row_fit.h, overstep included, with the block's columns as components and t = s without the
 * biases of the inputs. Therefore every block also solves for the biases. Fits are never implicit.
 *
 * Columns: the block's columns of all modes are a factor set of their own, for an otherwise equal
 * plan with amped_block_row_length columns. A row is
 *
 *     now[count], bias, zeros up to width + 1, before[width], start[width]
 *
 * Without bias, its place is 0. `count`, at most `width`, is the number of current columns; before
 * and start are zero after their columns. A fit writes own rows' now and bias. The caller exchanges
 * them.
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
  /* Bytes that create takes, in addition to the set of columns. */
  void (*require)(const struct amped_device *device, const amped_plan *plan, int width,
                  uint64_t *device_bytes, uint64_t *host_bytes);
  /* Make a block fit, after row fits were prepared. The part, the set and its plan outlive the
   * block fit. On failure there is nothing to free. */
  amped_status (*create)(struct amped_tensor_part *part, struct amped_factor_set *set,
                         const amped_plan *columns, int width, amped_block_fit **out);
  void (*destroy)(amped_block_fit *b); /* NULL is allowed */

  /* Select columns first .. first + count of all factors, and biases if factors are biased; factors
   * must be whole and current on this rank. The previous block's columns and biases first go back
   * to the factors, whole. count = 0: select nothing. If nothing was selected before, the block is
   * a first block. */
  amped_status (*take)(amped_block_fit *b, bool biased, int first, int count);

  /* Operations as in row fits, for the selected columns; each mode once per block, in any order.
   * The penalty of biases is reported with the factors' last component only. Equations have `count`
   * components. get_equations is called once for every shared row. */
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
