/* Start of a completion: random entries, and factors filled with them. */
#include "solver/complete/complete_start.h"

#include <math.h>

#include "base/random.h"

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
    return 1.0 + 0.1 * amped_random_normal(seed, stream, counter);
  if (s->centred)
    return amped_random_normal(seed, stream, counter) *
           (mode == first_ordinary(s, order) ? 1.0 / sqrt(r) : 1.0);
  if (s->positive)
    return 2.0 * pow(s->level / r, 1.0 / order) * amped_random_double(seed, stream, 2 * counter);
  return 0.3 * pow(r, -0.5 / order) * amped_random_normal(seed, stream, counter);
}

double amped_complete_start_entry(const amped_complete_start *s, int order, int components,
                                  uint64_t seed, int mode, uint64_t index, int column) {
  const double x = signed_entry(s, order, components, seed, mode,
                                index * (uint64_t)components + (uint64_t)column);
  return (s->nonnegative >> mode & 1) != 0 ? fabs(x) : x;
}

typedef struct making {
  const amped_complete_start *start;
  const amped_plan *plan;
  uint64_t seed;
} making;

static void make_row(const void *self, int mode, uint64_t index, double *row) {
  const making *m = self;
  const int components = m->plan->ncomps - (m->start->biased ? 1 : 0);
  for (int r = 0; r < components; r++)
    row[r] =
        amped_complete_start_entry(m->start, m->plan->order, components, m->seed, mode, index, r);
  if (m->start->biased)
    row[components] = 0.0;
}

amped_status amped_complete_start_fill(const amped_context *context, const amped_complete_start *s,
                                       uint64_t seed) {
  const making m = {s, context->plan, seed};
  return amped_factors_make(context, make_row, &m);
}
