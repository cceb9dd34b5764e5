/* Row past: the past of a batch's rows, where one number is kept of each row and a model explains
 * the rest (solver/stream_model.h). An optional part of a tensor format, beside row fits.
 *
 * It has, of each mode's own rows, n and ~e, which is what the row was before the batch: the row of
 * the factor and a 1 behind it. e is the row as it is now. Sums are in double, and in an order that
 * depends on the plan alone. Not collective.
 *
 * The twins (src/cpu/row_past_cpu.c, cuda/complete/row_past_cuda.cu) share this contract and one
 * test, tests/unit/backend/check_row_past.c. */
#ifndef AMPED_ROW_PAST_H
#define AMPED_ROW_PAST_H

#include "backend/row_fit.h"

/* What recall multiplies with a row's n, and with what it was. Host memory. */
typedef struct amped_row_recipe {
  bool biased;
  const double *left;  /* lower triangle of [ncomps][ncomps], row by row */
  const double *right; /* [ncomps][ncomps + 1] */
  /* Of the mode's rows: reg times its pull, and as in row_fit.h. */
  double reg, reg_power, prior, reg_bias;
} amped_row_recipe;

typedef struct amped_row_past_ops {
  /* Adds the bytes that begin of all modes takes, and sums over them; recall takes more. */
  void (*require)(const amped_plan *plan, uint64_t *device_bytes, uint64_t *host_bytes);

  /* The past of mode's own rows is kept, until this is called again or the part is destroyed: the
   * rows of the factor, and n, which is keep times the one number of a row of `counts`. */
  amped_status (*begin)(struct amped_tensor_part *part, int mode, const amped_row_history *counts);

  /* The rows have the equations (row_fit.h)
   *
   *     [ H    h ] = n left        [ g   ] = n right ~e + [ L (~a - prior) ]        tt = 0
   *     [ h^T  n ]                 [ tau ]                [ reg_bias ~b    ]
   *
   * with L = reg n^reg_power, and without bias H = n left, g alike. The last term is what penalties
   * took from the row when it was fitted: without it they would do so in each batch. *out has them,
   * for row fits; rows of n = 0 have none. It is the part's, until the next call. */
  amped_status (*recall)(struct amped_tensor_part *part, int mode, const amped_row_recipe *recipe,
                         amped_row_history *out);

  /* out = sums over the rows, of n d ~e^T beside those of n d d^T, where d = e - ~e:
   * [ncomps + 1][2 (ncomps + 1)], in host memory. */
  amped_status (*change)(struct amped_tensor_part *part, int mode, double *out);

  /* The numbers of `counts`, those of begin, become n + more, where more > 0: [own rows], in host
   * memory. out = the sum of what they grew by, as they are kept, times e e^T:
   * [ncomps + 1][ncomps + 1]. */
  amped_status (*grow)(struct amped_tensor_part *part, int mode, const amped_row_history *counts,
                       const double *more, double *out);
} amped_row_past_ops;

#endif
