/* A model whose values can be computed one by one without rounding, for tests of rankings. */
#ifndef AMPED_TESTING_MODELS_H
#define AMPED_TESTING_MODELS_H

#include "base/random.h"
#include "tensor/completion.h"
#include "tensor/ktensor.h"
#include "tests/lib/testing.h"

/* Entries are few: values tie, and sums of them are exact. */
static inline void testing_model(amped_ktensor *k, amped_completion *c, int order,
                                 const uint64_t *dims, int ncomps, bool biased) {
  check_ok(amped_ktensor_create(k, order, dims, ncomps));
  check_ok(amped_completion_create(c, order, dims, biased));
  for (int r = 0; r < ncomps; r++)
    k->weights[r] = 4.0 - r;
  for (int m = 0; m < order; m++) {
    for (uint64_t i = 0; i < dims[m] * (uint64_t)ncomps; i++)
      k->factors[m][i] = (double)(amped_random_u64(1, (uint64_t)m, i) % 5) - 2.0;
    for (uint64_t i = 0; i < dims[m] && biased; i++)
      c->bias[m][i] = (double)(amped_random_u64(2, (uint64_t)m, i) % 3);
  }
  c->mean = 3.5;
  c->scale = 0.5;
}

#endif
