/* Sum: many terms added with their rounding errors kept (Neumaier 1974), in long double. What comes
 * out is the exact sum, rounded once, but for cancellation beyond any that occurs in sums of
 * squares: the same in whatever order terms are added. */
#ifndef AMPED_SUM_H
#define AMPED_SUM_H

#include <math.h>

typedef struct amped_sum {
  long double sum;
  long double error; /* what rounding took from it */
} amped_sum;

static inline void amped_sum_add(amped_sum *s, long double term) {
  long double sum = s->sum + term;
  if (fabsl(s->sum) >= fabsl(term))
    s->error += (s->sum - sum) + term;
  else
    s->error += (term - sum) + s->sum;
  s->sum = sum;
}

static inline void amped_sum_join(amped_sum *s, const amped_sum *other) {
  amped_sum_add(s, other->sum);
  amped_sum_add(s, other->error);
}

static inline double amped_sum_value(const amped_sum *s) {
  return (double)(s->sum + s->error);
}

#endif
