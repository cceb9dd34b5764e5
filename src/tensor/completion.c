#include "tensor/completion.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"

const char *const amped_completion_set_names[AMPED_COMPLETION_SETS] = {"train", "validate", "test"};

amped_status amped_completion_create(amped_completion *c, int order, const uint64_t *dims,
                                     bool biased) {
  amped_status status = AMPED_OK;
  memset(c, 0, sizeof *c);
  c->order = order;
  c->scale = 1.0;
  c->best_sweep = 1;
  c->biased = biased;
  memcpy(c->dims, dims, (size_t)order * sizeof *dims);
  for (int m = 0; m < order && biased; m++)
    AMPED_GO(fail, amped_calloc(&c->bias[m], dims[m], sizeof *c->bias[m], "biases"));
  return AMPED_OK;
fail:
  amped_completion_free(c);
  return status;
}

void amped_completion_free(amped_completion *c) {
  for (int m = 0; m < AMPED_MAX_ORDER; m++)
    amped_free(c->bias[m]);
  amped_free(c->lengths);
  for (int s = 0; s < AMPED_COMPLETION_SETS; s++)
    amped_free(c->errors[s].values);
  memset(c, 0, sizeof *c);
}

amped_status amped_completion_set_errors(amped_completion *c, amped_completion_set set,
                                         const double *values, uint64_t count) {
  double *copy = NULL;
  AMPED_TRY(amped_alloc(&copy, count, sizeof *copy, "the errors of all sweeps"));
  if (count > 0)
    memcpy(copy, values, count * sizeof *copy);
  amped_free(c->errors[set].values);
  c->errors[set] = (amped_completion_errors){count, copy};
  return AMPED_OK;
}

/* --- lengths of columns ---------------------------------------------------------------------- */

/* Its squares neither overflow nor underflow. */
static double length_of(const amped_ktensor *k, int mode, int r) {
  const uint64_t n = (uint64_t)k->ncomps;
  const double *column = k->factors[mode] + r;
  double most = 0.0;
  double sum = 0.0;
  for (uint64_t i = 0; i < k->dims[mode]; i++)
    most = fmax(most, fabs(column[i * n]));
  for (uint64_t i = 0; i < k->dims[mode] && most > 0.0; i++)
    sum += (column[i * n] / most) * (column[i * n] / most);
  return most * sqrt(sum);
}

static double mean_of(const amped_ktensor *k, int mode, int r) {
  const uint64_t n = (uint64_t)k->ncomps;
  double sum = 0.0;
  for (uint64_t i = 0; i < k->dims[mode]; i++)
    sum += k->factors[mode][i * n + (uint64_t)r];
  return sum / (double)k->dims[mode];
}

static void scale_column(amped_ktensor *k, int mode, int r, double by) {
  const uint64_t n = (uint64_t)k->ncomps;
  for (uint64_t i = 0; i < k->dims[mode]; i++)
    k->factors[mode][i * n + (uint64_t)r] *= by;
}

amped_status amped_completion_normalise(amped_completion *c, amped_ktensor *k) {
  const uint64_t n = (uint64_t)k->ncomps;
  amped_free(c->lengths);
  c->ncomps = 0;
  AMPED_TRY(amped_alloc(&c->lengths, (uint64_t)k->order * n, sizeof *c->lengths,
                        "the lengths of columns"));
  c->ncomps = k->ncomps;
  for (int m = 0; m < k->order; m++)
    for (int r = 0; r < k->ncomps; r++)
      c->lengths[(uint64_t)m * n + (uint64_t)r] = length_of(k, m, r);
  amped_ktensor_normalise(k);
  return AMPED_OK;
}

/* Below this share of a column's size its mean says little. */
#define LEAST_MEAN 0.5

/* Give a component's weight to its columns, evenly. */
static void spread(amped_ktensor *k, int r, const bool *context) {
  bool even[AMPED_MAX_ORDER];
  double lengths[AMPED_MAX_ORDER];
  double size = fabs(k->weights[r]);
  double sign = k->weights[r] < 0.0 ? -1.0 : 1.0;
  double logs = 0.0;
  int count = 0;
  for (int m = 0; m < k->order; m++) {
    const double mean = mean_of(k, m, r);
    lengths[m] = length_of(k, m, r);
    even[m] = !context[m] || !(fabs(mean) * sqrt((double)k->dims[m]) > LEAST_MEAN * lengths[m]);
    if (!even[m]) {
      scale_column(k, m, r, 1.0 / mean);
      size *= fabs(mean);
      sign = mean < 0.0 ? -sign : sign;
    }
  }
  for (int m = 0; m < k->order; m++)
    if (even[m]) {
      logs += log(lengths[m]);
      count++;
    }
  if (count == 0) {
    scale_column(k, 0, r, sign * size);
    return;
  }
  const double length = exp((log(size) + logs) / count);
  for (int m = 0; m < k->order; m++)
    if (even[m] && lengths[m] > 0.0) {
      scale_column(k, m, r, sign * length / lengths[m]);
      sign = 1.0;
    }
}

void amped_completion_stretch(const amped_completion *c, const bool *context, amped_ktensor *k) {
  bool ones = true;
  for (int r = 0; r < k->ncomps; r++)
    ones = ones && k->weights[r] == 1.0;
  for (int r = 0; r < k->ncomps && c->ncomps == k->ncomps; r++)
    for (int m = 0; m < k->order; m++)
      scale_column(k, m, r, c->lengths[m * k->ncomps + r]);
  for (int r = 0; r < k->ncomps && c->ncomps == 0 && !ones; r++)
    spread(k, r, context);
  for (int r = 0; r < k->ncomps; r++)
    k->weights[r] = 1.0;
}

void amped_completion_unscale(amped_completion *c, amped_ktensor *k) {
  for (int r = 0; r < k->ncomps; r++)
    k->weights[r] *= c->scale;
  for (int m = 0; m < c->order && c->biased; m++)
    for (uint64_t i = 0; i < c->dims[m]; i++)
      c->bias[m][i] *= c->scale;
  c->scale = 1.0;
}

double amped_completion_error(const amped_completion *c, amped_completion_set set) {
  const amped_completion_errors *e = &c->errors[set];
  return e->count >= c->best_sweep && c->best_sweep > 0 ? e->values[c->best_sweep - 1]
                                                        : (double)NAN;
}
