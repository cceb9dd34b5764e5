/* Row steps: stochastic gradient descent for the rows of a factor over a rank's observed nonzeros
 * (docs/completion.md). An optional part of a tensor format, in addition to row fits. Model,
 * equations, penalties and held-out nonzeros are as in row_fit.h.
 *
 * A pass over a mode updates its rows; all other factors are fixed. A row's nonzeros on this rank,
 * in the order of the copy, are assigned round-robin to pieces of at most AMPED_STEP_PIECE. A piece
 * starts from the old row and visits its nonzeros in an order that depends on the epoch. At a
 * nonzero that is not held out, with p, t and n of row_fit.h,
 *
 *     C = mean of |p|^2 over the nonzeros visited so far, this one included; with bias C + 1
 *     e = step / C
 *
 * and the row a', b' becomes the minimum of the nonzero's own part of the objective plus the
 * distance to the row:
 *
 *     (t - p a - b)^2 + L/n |a - c 1|^2 + reg_bias/n b^2 + (|a - a'|^2 + (b - b')^2) / e
 *
 * This is an implicit step of e/2 along the gradient at the new row, and therefore never too long:
 * with k = 1 / (1 + e L/n), l = 1 / (1 + e reg_bias/n) and a = a' - c 1
 *
 *     s = e (t - c sum(p) - k p a - l b') / (1 + e k |p|^2 + e l)
 *     a = k a + k s p     b = l b' + l s
 *
 * Nonnegative: negative entries of a become 0. If C is 0 or not finite, e is 0. A piece's result is
 * the mean of its row over its second half, the visits from length / 2 on; if all of them are held
 * out, its last row. The new row is the mean of the pieces' results, weighted by their numbers of
 * nonzeros. A piece whose result is not finite keeps the old row. A row without nonzeros becomes a
 * = c 1, b = 0. With step = 0, rows with nonzeros stay unchanged.
 *
 * n counts the row's nonzeros of all ranks. Sums within a piece are in the factors' type; sums over
 * pieces are in double, in order of pieces. Therefore the bits depend only on the ranks.
 *
 * Sources: Robbins and Monro 1951; the implicit step: Toulis and Airoldi, "Asymptotic and
 * finite-sample properties of estimators based on stochastic gradients", 2017; means of pieces:
 * Zinkevich, Weimer, Smola, Li, "Parallelized stochastic gradient descent", 2010; means over the
 * tail: Jain et al., "Parallelizing stochastic gradient descent for least squares regression",
 * 2018. Not collective. */
#ifndef AMPED_ROW_STEPS_H
#define AMPED_ROW_STEPS_H

#include "backend/row_fit.h"

/* Most nonzeros in a piece. */
#define AMPED_STEP_PIECE 2048

/* Order of visits in an epoch. */
typedef struct amped_step_order {
  uint32_t stride; /* a prime larger than any piece */
  uint32_t start;
} amped_step_order;

static inline amped_step_order amped_step_order_of(uint64_t epoch) {
  static const uint32_t primes[] = {3244611641u, 2821154957u, 4058038399u, 2859831641u,
                                    2993072699u, 2427256577u, 2903913653u, 3946332937u};
  const uint64_t count = sizeof primes / sizeof primes[0];
  return (amped_step_order){primes[epoch % count], (uint32_t)amped_mix64(epoch)};
}

/* Current place in a piece's sequence of visits. */
typedef struct amped_step_visits {
  uint32_t length, at, stride;
} amped_step_visits;

static inline uint64_t amped_step_pieces(uint64_t count) {
  return (count + AMPED_STEP_PIECE - 1) / AMPED_STEP_PIECE;
}

/* The visits of `piece`, for a row of `count` nonzeros. */
AMPED_BOTH static inline amped_step_visits
amped_step_visits_of(amped_step_order order, uint64_t count, uint64_t pieces, uint64_t piece) {
  const uint32_t length = (uint32_t)((count - piece + pieces - 1) / pieces);
  amped_step_visits v;
  v.length = length;
  v.at = order.start % length;
  v.stride = order.stride % length;
  return v;
}

/* amped_step_number: the nonzero visited now, by its number among the row's. amped_step_next: go to
 * the next visit. */
AMPED_BOTH static inline uint64_t amped_step_number(const amped_step_visits *v, uint64_t pieces,
                                                    uint64_t piece) {
  return piece + v->at * pieces;
}
AMPED_BOTH static inline void amped_step_next(amped_step_visits *v) {
  v->at += v->stride;
  v->at -= v->at >= v->length ? v->length : 0;
}

/* Sums over the updated rows. */
typedef struct amped_row_step_sums {
  uint64_t count;      /* nonzeros in the rows */
  double penalty;      /* penalty of the new rows: sum of L |a - c 1|^2 */
  double bias_penalty; /* sum of reg_bias b^2 */
} amped_row_step_sums;

/* Length of a shared row's message in doubles: the sum of (a piece's result times its nonzeros),
 * and the number of nonzeros. */
static inline uint64_t amped_step_row_length(const amped_plan *plan) {
  return (uint64_t)plan->ncomps + 1;
}

/* Operations in addition to row fits, which must be prepared. No nonzero is streamed
 * (amped_requirement). */
typedef struct amped_row_step_ops {
  /* Bytes that the part takes for row steps. */
  void (*require)(const struct amped_device *device, const amped_plan *plan, uint64_t *device_bytes,
                  uint64_t *host_bytes);
  /* Allocate these bytes, after prepare of row fits; no effect if they are allocated for the
   * plan's number of components. They are freed with the part. */
  amped_status (*prepare)(struct amped_tensor_part *part);

  /* get: nonzeros of this rank's shared rows from `row` on (plan.h) that are not held out. put: the
   * sums over all ranks. Before the first pass, and after each hold_out. */
  amped_status (*get_counts)(struct amped_tensor_part *part, int mode, uint64_t row, uint64_t count,
                             uint64_t *counts);
  amped_status (*put_counts)(struct amped_tensor_part *part, int mode, uint64_t row, uint64_t count,
                             const uint64_t *counts);

  /* A pass over mode: own rows of iDps that are not split. Calls, parts and times are as in row
   * fits. */
  amped_status (*begin)(struct amped_tensor_part *part, int mode, const amped_row_fit *fit,
                        double step, uint64_t epoch);
  amped_status (*wait)(struct amped_tensor_part *part, int mode, int block_part,
                       struct amped_mttkrp_times *times, amped_row_step_sums *sums);
  /* Split iDps, after the last wait: get sums of this rank's shared rows; put the sums of own rows
   * of split iDps, which become new; then finish adds their penalties to *sums. For
   * row_reduce.h. */
  amped_status (*get_rows)(struct amped_tensor_part *part, int mode, uint64_t row, uint64_t count,
                           double *rows);
  amped_status (*put_rows)(struct amped_tensor_part *part, int mode, uint64_t row, uint64_t count,
                           const double *rows);
  amped_status (*finish)(struct amped_tensor_part *part, int mode, amped_row_step_sums *sums);

  /* *squares += sum of (y - model)^2 over this rank's nonzeros of mode's copy, without held-out
   * ones. */
  amped_status (*squares)(struct amped_tensor_part *part, int mode, const amped_row_fit *fit,
                          double *squares);
  /* keep: save this rank's own rows of all modes. restore: copy them back to the factors. */
  amped_status (*keep)(struct amped_tensor_part *part);
  amped_status (*restore)(struct amped_tensor_part *part);
} amped_row_step_ops;

#endif
