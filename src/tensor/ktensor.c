/* Kruskal tensor: memory, balancing, normalisation and order of components. */
#include "tensor/ktensor.h"

#include <math.h>
#include <string.h>

#include "base/kahan.h"
#include "base/mem.h"

amped_status amped_ktensor_create(amped_ktensor *k, int order, const uint64_t *dims, int ncomps) {
  amped_status status = AMPED_OK;
  memset(k, 0, sizeof *k);
  k->order = order;
  k->ncomps = ncomps;
  AMPED_GO(fail, amped_calloc(&k->weights, (uint64_t)ncomps, sizeof(double), "the weights"));
  for (int m = 0; m < order; m++) {
    uint64_t elements = 0;
    k->dims[m] = dims[m];
    if (!amped_mul(dims[m], (uint64_t)ncomps, &elements)) {
      status = amped_error(AMPED_FAILED, NULL,
                           "the factor of mode %d is too large for 64-bit sizes", m + 1);
      goto fail;
    }
    AMPED_GO(fail, amped_calloc(&k->factors[m], elements, sizeof(double), "a factor"));
  }
  return AMPED_OK;
fail:
  amped_ktensor_free(k);
  return status;
}

void amped_ktensor_free(amped_ktensor *k) {
  amped_free(k->weights);
  for (int m = 0; m < AMPED_MAX_ORDER; m++) {
    amped_free(k->factors[m]);
    amped_labels_free(&k->labels[m]);
  }
  memset(k, 0, sizeof *k);
}

void amped_ktensor_balance_mode(amped_ktensor *k, int mode, int *exponents) {
  const uint64_t n = (uint64_t)k->ncomps;
  double most[AMPED_MAX_NCOMPS] = {0.0};
  double *factor = k->factors[mode];
  for (uint64_t i = 0; i < k->dims[mode]; i++)
    for (uint64_t r = 0; r < n; r++)
      most[r] = fmax(most[r], fabs(factor[i * n + r]));
  for (uint64_t r = 0; r < n; r++) {
    (void)frexp(most[r], &exponents[r]);
    k->weights[r] = ldexp(k->weights[r], exponents[r]);
  }
  for (uint64_t i = 0; i < k->dims[mode]; i++)
    for (uint64_t r = 0; r < n; r++)
      factor[i * n + r] = ldexp(factor[i * n + r], -exponents[r]);
}

void amped_ktensor_balance(amped_ktensor *k) {
  int exponents[AMPED_MAX_NCOMPS];
  for (int m = 0; m < k->order; m++)
    amped_ktensor_balance_mode(k, m, exponents);
}

static void normalise_mode(amped_ktensor *k, int mode, double *lengths) {
  const uint64_t n = (uint64_t)k->ncomps;
  double squares[AMPED_MAX_NCOMPS] = {0.0}; /* later: divisors of the columns */
  double *factor = k->factors[mode];
  for (uint64_t i = 0; i < k->dims[mode]; i++)
    for (uint64_t r = 0; r < n; r++)
      squares[r] += factor[i * n + r] * factor[i * n + r];
  for (uint64_t r = 0; r < n; r++) {
    lengths[r] = sqrt(squares[r]);
    k->weights[r] *= lengths[r];
    squares[r] = lengths[r] > 0.0 ? lengths[r] : 1.0;
  }
  for (uint64_t i = 0; i < k->dims[mode]; i++)
    for (uint64_t r = 0; r < n; r++)
      factor[i * n + r] /= squares[r];
}

/* Columns are balanced first, so that the sum of a column's squares fits in a double. */
void amped_ktensor_normalise(amped_ktensor *k, uint64_t kept, double *lengths) {
  int exponents[AMPED_MAX_ORDER][AMPED_MAX_NCOMPS];
  double of_mode[AMPED_MAX_NCOMPS];
  for (int m = 0; m < k->order; m++)
    if ((kept >> m & 1) == 0)
      amped_ktensor_balance_mode(k, m, exponents[m]);
  for (int m = 0; m < k->order; m++) {
    const bool stays = (kept >> m & 1) != 0;
    if (!stays)
      normalise_mode(k, m, of_mode);
    for (int r = 0; r < k->ncomps && lengths != NULL; r++)
      lengths[m * k->ncomps + r] = stays ? 1.0 : ldexp(of_mode[r], exponents[m][r]);
  }
}

void amped_ktensor_sum_to_one(amped_ktensor *k) {
  const uint64_t n = (uint64_t)k->ncomps;
  for (int m = 0; m < k->order; m++)
    for (uint64_t r = 0; r < n; r++) {
      amped_kahan sum = {0.0L, 0.0L};
      for (uint64_t i = 0; i < k->dims[m]; i++)
        amped_kahan_add(&sum, (long double)k->factors[m][i * n + r]);
      const double all = amped_kahan_value(&sum);
      for (uint64_t i = 0; i < k->dims[m]; i++)
        k->factors[m][i * n + r] = all > 0.0 ? k->factors[m][i * n + r] / all : 0.0;
    }
}

void amped_ktensor_order(const amped_ktensor *k, int *order) {
  /* Insertion sort: it is stable, and components are few. */
  for (int r = 0; r < k->ncomps; r++) {
    int at = r;
    for (; at > 0 && k->weights[order[at - 1]] < k->weights[r]; at--)
      order[at] = order[at - 1];
    order[at] = r;
  }
}
