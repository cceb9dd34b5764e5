/* Unit model: grams over all ranks, unit columns, and the model's norm. */
#include "solver/unit_model.h"

#include <math.h>

#include "solver/normal_equations.h"

amped_status amped_unit_gram(const amped_context *context, int mode, amped_status status,
                             double *gram) {
  const amped_worker *worker = context->worker;
  AMPED_NEXT(status, worker->backend->factors->gram(worker->factors, mode, gram));
  return amped_comm_sum_agreed(context->comm, status, gram,
                               context->plan->ncomps * context->plan->ncomps);
}

void amped_unit_lengths(int ncomps, double *gram, double *lengths, double *scale) {
  const size_t n = (size_t)ncomps;
  for (size_t r = 0; r < n; r++) {
    lengths[r] = sqrt(gram[r * n + r]);
    scale[r] = lengths[r] > 0.0 ? 1.0 / lengths[r] : 0.0;
  }
  for (size_t r = 0; r < n; r++)
    for (size_t s = 0; s < n; s++)
      gram[r * n + s] = gram[r * n + s] * scale[r] * scale[s];
}

amped_status amped_unit_columns(const amped_context *context, int mode, uint64_t position,
                                uint64_t rows, double *gram, double *lengths, double *scale) {
  amped_unit_lengths(context->plan->ncomps, gram, lengths, scale);
  return context->worker->backend->factors->scale(context->worker->factors, mode, position, rows,
                                                  scale);
}

double amped_unit_norm_squared(const amped_plan *plan, const double *weights,
                               const double *const *grams, double *v, double *sizes) {
  const size_t n = (size_t)plan->ncomps;
  double sum = 0.0;
  *sizes = 0.0;
  amped_hadamard(plan->order, plan->ncomps, grams, -1, v);
  for (size_t r = 0; r < n; r++)
    for (size_t s = 0; s < n; s++) {
      double term = weights[r] * weights[s] * v[r * n + s];
      sum += term;
      *sizes += fabs(term);
    }
  return sum;
}
