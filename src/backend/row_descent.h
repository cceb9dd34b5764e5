/* Row descent: coordinate descent for a row of a factor, if no closed solution exists: HALS
 * (Cichocki & Phan 2009), with a soft threshold. Every backend implements it.
 *
 * For a row w of the MTTKRP result, and V, the Hadamard product of the other modes' grams, the new
 * row a is near the minimum of
 *
 *     a V a^T / 2 - w a^T + sum over r of shrink_r |a_r|,       over a >= 0 if `nonnegative`.
 *
 * It starts from the old row. A pass sets, for r = 1, 2, ...
 *
 *     x = a_r + (w_r - a V(:,r)) / V(r,r),   t = shrink_r / V(r,r)
 *     a_r = max(0, x - t);    signed: x - t above t, x + t below -t, else 0
 *
 * and a_r = 0 if V(r,r) <= 0. Passes end after PASSES passes, or if a pass changes the row by at
 * most SHARE times the first pass's change (Euclidean length). All arithmetic is in double. A row
 * depends only on its own numbers and V: on no other row, part of a block or rank. Padding rows
 * stay 0 (`descend` in backend.h). */
#ifndef AMPED_ROW_DESCENT_H
#define AMPED_ROW_DESCENT_H

#include <stdbool.h>

#define AMPED_DESCENT_PASSES 50
#define AMPED_DESCENT_SHARE 0.01

/* Parameters for the rows of a mode. Host memory. */
typedef struct amped_row_descent {
  bool nonnegative;
  const double *v;      /* [ncomps][ncomps], symmetric */
  const double *scale;  /* [ncomps] multiplies column c of the old rows */
  const double *shrink; /* [ncomps] threshold per column, at least 0 */
} amped_row_descent;

#endif
