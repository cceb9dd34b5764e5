/* Compensated sum (Neumaier 1974): a second sum holds the rounding errors of all additions. Starts
 * from {0}.
 *
 * In long double the value is the exact sum, rounded once, except after extreme cancellation. Sums
 * of squares have no cancellation, so their value does not depend on the order of the terms. */
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

/* Add the value of another sum. */
static inline void amped_kahan_join(amped_kahan *k, const amped_kahan *other) {
  amped_kahan_add(k, other->sum);
  amped_kahan_add(k, other->error);
}

static inline double amped_kahan_value(const amped_kahan *k) {
  return (double)(k->sum + k->error);
}

#endif
