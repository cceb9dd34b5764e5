/* Completion: memory, errors and column lengths of a completion model. */
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
  for (int m = 0; m < AMPED_MAX_ORDER; m++) {
    amped_free(c->bias[m]);
    amped_free(c->observed[m]);
    amped_free(c->gap_rmse[m]);
  }
  amped_free(c->lengths);
  for (int s = 0; s < AMPED_COMPLETION_SETS; s++)
    amped_free(c->errors[s].values);
  memset(c, 0, sizeof *c);
}

amped_status amped_completion_begin_observed(amped_completion *c) {
  for (int m = 0; m < c->order; m++)
    AMPED_TRY(amped_calloc(&c->observed[m], c->dims[m], sizeof *c->observed[m], "observed rows"));
  return AMPED_OK;
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

/* Scale the unit columns of a mode again, so that rows with a learnt entry alone have unit length.
 * Other rows then count in no length, however many there are. A component that is zero in all
 * learnt rows becomes zero in all rows. */
static void leave_out_unlearnt(const amped_completion *c, int mode, amped_ktensor *k) {
  const uint64_t n = (uint64_t)k->ncomps;
  double *factor = k->factors[mode];
  double lengths[AMPED_MAX_NCOMPS] = {0.0};
  if (amped_completion_unlearnt(c, mode) == 0)
    return;
  for (uint64_t i = 0; i < k->dims[mode]; i++)
    for (uint64_t r = 0; r < n && c->observed[mode][i] != 0; r++)
      lengths[r] += factor[i * n + r] * factor[i * n + r];
  for (uint64_t r = 0; r < n; r++) {
    lengths[r] = sqrt(lengths[r]);
    k->weights[r] *= lengths[r];
    c->lengths[(uint64_t)mode * n + r] *= lengths[r];
  }
  for (uint64_t i = 0; i < k->dims[mode]; i++)
    for (uint64_t r = 0; r < n; r++)
      factor[i * n + r] = lengths[r] > 0.0 ? factor[i * n + r] / lengths[r] : 0.0;
}

amped_status amped_completion_normalise(amped_completion *c, uint64_t kept, amped_ktensor *k) {
  amped_free(c->lengths);
  c->ncomps = 0;
  AMPED_TRY(amped_alloc(&c->lengths, (uint64_t)k->order * (uint64_t)k->ncomps, sizeof *c->lengths,
                        "the lengths of columns"));
  c->ncomps = k->ncomps;
  amped_ktensor_normalise(k, kept, c->lengths);
  for (int m = 0; m < k->order; m++)
    if ((kept >> m & 1) == 0)
      leave_out_unlearnt(c, m, k);
  return AMPED_OK;
}

/* Lengths and means of all columns, and the numbers that multiply them. */
typedef struct columns {
  double lengths[AMPED_MAX_ORDER][AMPED_MAX_NCOMPS];
  double means[AMPED_MAX_ORDER][AMPED_MAX_NCOMPS];
  double by[AMPED_MAX_ORDER][AMPED_MAX_NCOMPS];
} columns;

/* Measures the columns of a mode. Dividing by the largest entry keeps squares from overflow and
 * underflow. */
static void measure_mode(const amped_ktensor *k, int mode, double *lengths, double *means) {
  const uint64_t n = (uint64_t)k->ncomps;
  const double *factor = k->factors[mode];
  double most[AMPED_MAX_NCOMPS] = {0.0};
  double sums[AMPED_MAX_NCOMPS] = {0.0};
  double squares[AMPED_MAX_NCOMPS] = {0.0};
  for (uint64_t i = 0; i < k->dims[mode]; i++)
    for (uint64_t r = 0; r < n; r++) {
      most[r] = fmax(most[r], fabs(factor[i * n + r]));
      sums[r] += factor[i * n + r];
    }
  for (uint64_t i = 0; i < k->dims[mode]; i++)
    for (uint64_t r = 0; r < n; r++) {
      const double share = most[r] > 0.0 ? factor[i * n + r] / most[r] : 0.0;
      squares[r] += share * share;
    }
  for (uint64_t r = 0; r < n; r++) {
    lengths[r] = most[r] * sqrt(squares[r]);
    means[r] = sums[r] / (double)k->dims[mode];
  }
}

static void scale_mode(amped_ktensor *k, int mode, const double *by) {
  const uint64_t n = (uint64_t)k->ncomps;
  for (uint64_t i = 0; i < k->dims[mode]; i++)
    for (uint64_t r = 0; r < n; r++)
      k->factors[mode][i * n + r] *= by[r];
}

/* Least share of a column's size for its mean to be used as a scale. */
#define LEAST_MEAN 0.5

/* Computes the multipliers that spread a component's weight evenly over its columns. */
static void spread(const amped_ktensor *k, int r, const bool *context, columns *c) {
  bool even[AMPED_MAX_ORDER];
  double size = fabs(k->weights[r]);
  double sign = k->weights[r] < 0.0 ? -1.0 : 1.0;
  double logs = 0.0;
  int count = 0;
  for (int m = 0; m < k->order; m++) {
    const double mean = c->means[m][r];
    even[m] =
        !context[m] || !(fabs(mean) * sqrt((double)k->dims[m]) > LEAST_MEAN * c->lengths[m][r]);
    c->by[m][r] = even[m] ? 1.0 : 1.0 / mean;
    if (even[m]) {
      logs += log(c->lengths[m][r]);
      count++;
    } else {
      size *= fabs(mean);
      sign = mean < 0.0 ? -sign : sign;
    }
  }
  if (count == 0) {
    c->by[0][r] *= sign * size;
    return;
  }
  const double length = exp((log(size) + logs) / count);
  for (int m = 0; m < k->order; m++)
    if (even[m] && c->lengths[m][r] > 0.0) {
      c->by[m][r] = sign * length / c->lengths[m][r];
      sign = 1.0;
    }
}

static void spread_all(amped_ktensor *k, const bool *context, double *by) {
  columns c;
  for (int m = 0; m < k->order; m++)
    measure_mode(k, m, c.lengths[m], c.means[m]);
  for (int r = 0; r < k->ncomps; r++)
    spread(k, r, context, &c);
  for (int m = 0; m < k->order; m++) {
    scale_mode(k, m, c.by[m]);
    if (by != NULL)
      memcpy(by + m * k->ncomps, c.by[m], (size_t)k->ncomps * sizeof *by);
  }
}

void amped_completion_stretch(const amped_completion *c, const bool *context, amped_ktensor *k,
                              double *by) {
  const int elements = k->order * k->ncomps;
  bool ones = true;
  for (int r = 0; r < k->ncomps; r++)
    ones = ones && k->weights[r] == 1.0;
  for (int i = 0; i < elements && by != NULL; i++)
    by[i] = c->ncomps == k->ncomps ? c->lengths[i] : 1.0;
  for (int m = 0; m < k->order && c->ncomps == k->ncomps; m++)
    scale_mode(k, m, c->lengths + m * k->ncomps);
  if (c->ncomps == 0 && !ones)
    spread_all(k, context, by);
  for (int r = 0; r < k->ncomps; r++)
    k->weights[r] = 1.0;
}

void amped_completion_weigh(const amped_completion *c, amped_ktensor *k) {
  for (int r = 0; r < k->ncomps && c->order > 0; r++)
    k->weights[r] *= c->scale;
}

uint64_t amped_completion_unlearnt(const amped_completion *c, int mode) {
  uint64_t count = 0;
  for (uint64_t i = 0; c->observed[mode] != NULL && i < c->dims[mode]; i++)
    count += c->observed[mode][i] == 0;
  return count;
}

void amped_completion_blank(const amped_completion *c, amped_ktensor *k) {
  const uint64_t n = (uint64_t)k->ncomps;
  for (int m = 0; m < c->order; m++)
    for (uint64_t i = 0; c->observed[m] != NULL && i < c->dims[m]; i++)
      if (c->observed[m][i] == 0)
        memset(k->factors[m] + i * n, 0, n * sizeof(double));
}

void amped_completion_unscale(amped_completion *c, amped_ktensor *k) {
  amped_completion_weigh(c, k);
  for (int m = 0; m < c->order && c->biased; m++)
    for (uint64_t i = 0; i < c->dims[m]; i++)
      c->bias[m][i] *= c->scale;
  c->scale = 1.0;
}

/* bounds[r] *= the largest absolute number of column r of a mode. */
static void multiply_by_largest(const amped_ktensor *k, int mode, double *bounds) {
  const uint64_t n = (uint64_t)k->ncomps;
  double most[AMPED_MAX_NCOMPS] = {0.0};
  for (uint64_t i = 0; i < k->dims[mode]; i++)
    for (uint64_t r = 0; r < n; r++)
      most[r] = fmax(most[r], fabs(k->factors[mode][i * n + r]));
  for (uint64_t r = 0; r < n; r++)
    bounds[r] *= most[r];
}

bool amped_completion_is_additive(const amped_completion *c, const amped_ktensor *k) {
  double range = 0.0; /* the sum of all modes' biases: largest minus smallest */
  double bounds[AMPED_MAX_NCOMPS];
  double most = 0.0; /* upper bound of the sum of all components */
  for (int m = 0; m < k->order && c->biased; m++) {
    double least_bias = INFINITY;
    double most_bias = -INFINITY;
    for (uint64_t i = 0; i < k->dims[m]; i++) {
      least_bias = fmin(least_bias, c->bias[m][i]);
      most_bias = fmax(most_bias, c->bias[m][i]);
    }
    range += most_bias - least_bias;
  }
  for (int r = 0; r < k->ncomps; r++)
    bounds[r] = fabs(k->weights[r]);
  for (int m = 0; m < k->order; m++)
    multiply_by_largest(k, m, bounds);
  for (int r = 0; r < k->ncomps; r++)
    most += bounds[r];
  return most <= 1e-3 * (c->biased ? range : c->order > 0 ? 1.0 : 0.0);
}

double amped_completion_error(const amped_completion *c, amped_completion_set set) {
  const amped_completion_errors *e = &c->errors[set];
  return e->count >= c->best_sweep && c->best_sweep > 0 ? e->values[c->best_sweep - 1]
                                                        : (double)NAN;
}
