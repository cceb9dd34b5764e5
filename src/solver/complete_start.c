#include "solver/complete_start.h"

#include <math.h>

#include "base/mem.h"
#include "base/random.h"

/* Elements of a buffer that rows pass through. */
#define BUFFER_ELEMENTS (UINT64_C(1) << 18)

#define TWO_PI 6.283185307179586476925286766559

/* Box and Muller 1958: from two uniform numbers of the counter's own. */
static double normal(uint64_t seed, uint64_t stream, uint64_t counter) {
  const double u = 1.0 - amped_random_double(seed, stream, 2 * counter);
  const double v = amped_random_double(seed, stream, 2 * counter + 1);
  return sqrt(-2.0 * log(u)) * cos(TWO_PI * v);
}

static int first_ordinary(const amped_complete_start *s, int order) {
  int first = 0;
  while (first < order && s->context[first])
    first++;
  return first;
}

static double signed_entry(const amped_complete_start *s, int order, int components, uint64_t seed,
                           int mode, uint64_t counter) {
  const double r = components;
  const uint64_t stream = (uint64_t)mode;
  if (s->context[mode])
    return 1.0 + 0.1 * normal(seed, stream, counter);
  if (s->centred)
    return normal(seed, stream, counter) * (mode == first_ordinary(s, order) ? 1.0 / sqrt(r) : 1.0);
  if (s->positive)
    return 2.0 * pow(s->level / r, 1.0 / order) * amped_random_double(seed, stream, 2 * counter);
  return 0.3 * pow(r, -0.5 / order) * normal(seed, stream, counter);
}

double amped_complete_start_entry(const amped_complete_start *s, int order, int components,
                                  uint64_t seed, int mode, uint64_t index, int column) {
  const double x = signed_entry(s, order, components, seed, mode,
                                index * (uint64_t)components + (uint64_t)column);
  return s->nonnegative ? fabs(x) : x;
}

static void fill_rows(const amped_plan *plan, const amped_complete_start *s, uint64_t seed,
                      int mode, uint64_t index, uint64_t count, double *rows) {
  const int n = plan->ncomps;
  const int components = n - (s->biased ? 1 : 0);
#pragma omp parallel for schedule(static)
  for (uint64_t i = 0; i < count; i++) {
    double *row = rows + i * (uint64_t)n;
    for (int r = 0; r < components; r++)
      row[r] = amped_complete_start_entry(s, plan->order, components, seed, mode, index + i, r);
    if (s->biased)
      row[components] = 0.0;
  }
}

/* Own rows of an iDp, which lie one behind the other. */
static amped_status fill_idp(const amped_context *context, const amped_complete_start *s,
                             uint64_t seed, int mode, uint64_t idp, double *rows) {
  const amped_plan *plan = context->plan;
  const amped_row_plan *m = &plan->modes[mode].rows;
  const uint64_t step = BUFFER_ELEMENTS / (uint64_t)plan->ncomps;
  const uint64_t begin = idp * m->width;
  const uint64_t end = m->dim - begin < m->width ? m->dim : begin + m->width;
  for (uint64_t index = begin; index < end; index += step) {
    const uint64_t count = end - index < step ? end - index : step;
    fill_rows(plan, s, seed, mode, index, count, rows);
    AMPED_TRY(context->worker->backend->factors->put_rows(
        context->worker->factors, mode, m->position[idp] + (index - begin), count, rows));
  }
  return AMPED_OK;
}

amped_status amped_complete_start_fill(const amped_context *context, const amped_complete_start *s,
                                       uint64_t seed) {
  const amped_plan *plan = context->plan;
  double *rows = NULL;
  amped_status status = amped_alloc(&rows, BUFFER_ELEMENTS, sizeof *rows, "a buffer of rows");
  for (int m = 0; m < plan->order; m++)
    for (uint64_t k = 0; k < plan->modes[m].rows.idp_count && status == AMPED_OK; k++)
      if (plan->modes[m].rows.owner[k] == plan->rank)
        status = fill_idp(context, s, seed, m, k, rows);
  amped_free(rows);
  AMPED_TRY(amped_comm_agree(context->comm, status));
  for (int m = 0; m < plan->order; m++)
    amped_exchange_rows(context->exchange, m);
  return AMPED_OK;
}
