/* Row descent: coordinate descent for a row of a factor, where a closed solution will not do: HALS
 * (Cichocki & Phan 2009), with a soft threshold. Every backend follows it.
 *
 * Of the row w of MTTKRP and V, the Hadamard product of the other modes' grams, the new row a is
 * near the least of
 *
 *     a V a^T / 2 - w a^T + sum over r of shrink_r |a_r|,       over a >= 0 where `nonnegative`.
 *
 * It starts from the old row. A pass sets, for r = 1, 2, ...
 *
 *     x = a_r + (w_r - a V(:,r)) / V(r,r),   t = shrink_r / V(r,r)
 *     a_r = max(0, x - t);    signed: x - t above t, x + t below -t, else 0
 *
 * or 0 where V(r,r) is not above 0. Passes end when one changes the row by at most SHARE of what
 * the first one changed, as Euclidean length, or after PASSES of them. All is in double. A row
 * depends on nothing but its own numbers and V: on no other row, no part of a block and no rank. */
#ifndef AMPED_ROW_DESCENT_H
#define AMPED_ROW_DESCENT_H

#include <stdbool.h>

#define AMPED_DESCENT_PASSES 50
#define AMPED_DESCENT_SHARE 0.01

/* Of a mode's rows. Host memory. */
typedef struct amped_row_descent {
  bool nonnegative;
  const double *v;      /* [ncomps][ncomps], symmetric */
  const double *scale;  /* [ncomps] column c of the old rows counts times scale[c] */
  const double *shrink; /* [ncomps] at least 0 */
} amped_row_descent;

#endif
