/* Nonnegative row: the rule by which HALS makes a row of a factor that is nonnegative (Cichocki &
 * Phan 2009). Every backend follows it.
 *
 * Of the row w of MTTKRP and V, the Hadamard product of the other modes' grams, the new row a is
 * near the least of a V a^T / 2 - w a^T over a >= 0. It starts from the old row. A pass sets, for
 * r = 1, 2, ...
 *
 *     a_r = max(0, a_r + (w_r - a V(:,r)) / V(r,r)),    or 0 where V(r,r) is not above 0.
 *
 * Passes end when one changes the row by at most SHARE of what the first one changed, as Euclidean
 * length, or after PASSES of them. All is in double. A row depends on nothing but its own numbers
 * and V: on no other row, no part of a block and no rank. */
#ifndef AMPED_NONNEGATIVE_ROW_H
#define AMPED_NONNEGATIVE_ROW_H

#define AMPED_NONNEGATIVE_PASSES 50
#define AMPED_NONNEGATIVE_SHARE 0.01

#endif
