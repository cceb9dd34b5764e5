/* Row history from a model: history of a batch's rows, if one number per row is kept and a model
 * explains the rest (solver/stream/stream_model.h). An optional part of a tensor format, in
 * addition to row fits.
 *
 * For each mode's own rows the part keeps n and ~e, the row before the batch: the row of the
 * factor, with a 1 appended. e is the current row. Sums are in double, in an order that depends on
 * the plan only. Not collective.
 *
 * The CPU and GPU versions (src/cpu/complete/row_history_cpu.c, cuda/complete/row_history_cuda.cu)
 * share this contract and one test, tests/unit/backend/check_row_history.c. */
#ifndef AMPED_ROW_HISTORY_H
#define AMPED_ROW_HISTORY_H

#include "backend/row_fit.h"

/* Coefficients with which recall multiplies a row's n and its old values. Host memory. */
typedef struct amped_row_recipe {
  bool biased;
  const double *left;  /* lower triangle of [ncomps][ncomps], row by row */
  const double *right; /* [ncomps][ncomps + 1] */
  /* Penalties of the mode's rows: reg times the mode's pull, and the others as in row_fit.h. */
  double reg, reg_power, prior, reg_bias;
} amped_row_recipe;

typedef struct amped_row_history_ops {
  /* Adds the bytes of begin for all modes, and of sums over them; recall takes more. */
  void (*require)(const amped_plan *plan, uint64_t *device_bytes, uint64_t *host_bytes);

  /* Save the state of mode's own rows before a batch: the rows of the factor, and n = keep * (the
   * one number in a row of `counts`). Valid until the next begin of this mode, or until the part is
   * destroyed. */
  amped_status (*begin)(struct amped_tensor_part *part, int mode, const amped_row_history *counts);

  /* *out = history of the rows, for row fits: the equations (row_fit.h)
   *
   *     [ H    h ] = n left        [ g   ] = n right ~e + [ L (~a - prior) ]        tt = 0
   *     [ h^T  n ]                 [ tau ]                [ reg_bias ~b    ]
   *
   * with L = reg n^reg_power. Without bias: H = n left, g alike. The last term is the amount by
   * which penalties shrank the row when it was fitted; without this term each batch would shrink it
   * again. Rows with n = 0 have no history. *out is the part's, until the next call. */
  amped_status (*recall)(struct amped_tensor_part *part, int mode, const amped_row_recipe *recipe,
                         amped_row_history *out);

  /* out = sums over the rows of n d ~e^T and, in the columns after it, of n d d^T, with d = e - ~e:
   * [ncomps + 1][2 (ncomps + 1)], in host memory. */
  amped_status (*change)(struct amped_tensor_part *part, int mode, double *out);

  /* Store n + more in `counts`, the array that begin has read, for each row with more > 0. more:
   * [own rows], host memory. out = sum over rows of (the increase as stored) times e e^T: [ncomps +
   * 1][ncomps + 1]. */
  amped_status (*grow)(struct amped_tensor_part *part, int mode, const amped_row_history *counts,
                       const double *more, double *out);
} amped_row_history_ops;

#endif
