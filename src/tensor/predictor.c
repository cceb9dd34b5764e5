/* Predictor: mean rows of a model, and values at cells. */
#include "tensor/predictor.h"

#include <string.h>

#include "base/mem.h"

/* Least cells for several threads; fewer are done before other threads wake up. */
#define WORTH_THREADS 1024

bool amped_predictor_knows(const amped_predictor *p, int mode, uint64_t i) {
  const uint64_t n = (uint64_t)p->k->ncomps;
  const double *row = p->k->factors[mode] + i * n;
  if (p->c == NULL)
    return true;
  if (p->c->observed[mode] != NULL)
    return p->c->observed[mode][i] != 0;
  bool any = p->c->biased && p->c->bias[mode][i] != 0.0;
  for (uint64_t r = 0; r < n; r++)
    any = any || row[r] != 0.0;
  return any;
}

uint64_t amped_predictor_known(const amped_predictor *p, int mode, uint64_t index) {
  return index == AMPED_PREDICTOR_COLD || amped_predictor_knows(p, mode, index)
             ? index
             : AMPED_PREDICTOR_COLD;
}

static amped_status find_means(amped_predictor *p, int mode) {
  const amped_ktensor *k = p->k;
  const uint64_t n = (uint64_t)k->ncomps;
  double *mean = NULL;
  uint64_t count = 0;
  AMPED_TRY(amped_calloc(&p->mean_row[mode], n, sizeof(double), "a mean row"));
  mean = p->mean_row[mode];
  for (uint64_t i = 0; i < k->dims[mode]; i++) {
    if (!amped_predictor_knows(p, mode, i))
      continue;
    count++;
    for (uint64_t r = 0; r < n; r++)
      mean[r] += k->factors[mode][i * n + r];
    if (p->c != NULL && p->c->biased)
      p->mean_bias[mode] += p->c->bias[mode][i];
  }
  for (uint64_t r = 0; r < n && count > 0; r++)
    mean[r] /= (double)count;
  if (count > 0)
    p->mean_bias[mode] /= (double)count;
  return AMPED_OK;
}

amped_status amped_predictor_create(const amped_ktensor *k, const amped_completion *c,
                                    amped_predictor *out) {
  amped_status status = AMPED_OK;
  *out = (amped_predictor){.k = k, .c = c != NULL && c->order > 0 ? c : NULL};
  for (int m = 0; m < k->order && status == AMPED_OK; m++)
    status = find_means(out, m);
  if (status != AMPED_OK)
    amped_predictor_free(out);
  return status;
}

void amped_predictor_free(amped_predictor *p) {
  for (int m = 0; m < AMPED_MAX_ORDER; m++)
    amped_free(p->mean_row[m]);
  memset(p, 0, sizeof *p);
}

const double *amped_predictor_row(const amped_predictor *p, int mode, uint64_t index) {
  return index == AMPED_PREDICTOR_COLD ? p->mean_row[mode]
                                       : p->k->factors[mode] + index * (uint64_t)p->k->ncomps;
}

double amped_predictor_bias(const amped_predictor *p, int mode, uint64_t index) {
  if (p->c == NULL || !p->c->biased)
    return 0.0;
  return index == AMPED_PREDICTOR_COLD ? p->mean_bias[mode] : p->c->bias[mode][index];
}

static double value_at(const amped_predictor *p, uint64_t *const *indices, uint64_t i) {
  const amped_ktensor *k = p->k;
  double product[AMPED_MAX_NCOMPS];
  double y = 0.0;
  memcpy(product, k->weights, (size_t)k->ncomps * sizeof *product);
  for (int m = 0; m < k->order; m++) {
    const double *row = amped_predictor_row(p, m, indices[m][i]);
    for (int r = 0; r < k->ncomps; r++)
      product[r] *= row[r];
    y += amped_predictor_bias(p, m, indices[m][i]);
  }
  for (int r = 0; r < k->ncomps; r++)
    y += product[r];
  return p->c != NULL ? p->c->mean + p->c->scale * y : y;
}

void amped_predictor_values(const amped_predictor *p, uint64_t *const *indices, uint64_t count,
                            double *out) {
#pragma omp parallel for schedule(static) if (count > WORTH_THREADS)
  for (uint64_t i = 0; i < count; i++)
    out[i] = value_at(p, indices, i);
}
