/* Neumaier's sum (1974): the rounding errors of all additions are added up beside it. Starts from
 * {0}. In long double, what comes out is the exact sum rounded once, but for cancellation beyond
 * any that occurs in sums of squares: the same in whatever order terms are added. */
#ifndef AMPED_KAHAN_H
#define AMPED_KAHAN_H

#include <math.h>

typedef struct amped_kahan {
  long double sum;
  long double error;
} amped_kahan;

static inline void amped_kahan_add(amped_kahan *k, long double term) {
  long double sum = k->sum + term;
  if (fabsl(k->sum) >= fabsl(term))
    k->error += (k->sum - sum) + term;
  else
    k->error += (term - sum) + k->sum;
  k->sum = sum;
}

/* Add what another sum holds. */
static inline void amped_kahan_join(amped_kahan *k, const amped_kahan *other) {
  amped_kahan_add(k, other->sum);
  amped_kahan_add(k, other->error);
}

static inline double amped_kahan_value(const amped_kahan *k) {
  return (double)(k->sum + k->error);
}

#endif
