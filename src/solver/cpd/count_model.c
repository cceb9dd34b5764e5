/* Count model: numbers of an update, and the columns' scales. */
#include "solver/cpd/count_model.h"

#include <math.h>

/* An entry below this share of its column's mean counts as 0, and may be raised to RAISED times the
 * mean. */
#define ZERO 1e-10
#define RAISED 0.01

/* Least model value at a nonzero: this share of the mean over all cells, or less if the ratios'
 * sums still stay below MOST_F32, MOST_F64 (least_of); never below LEAST_F32, LEAST_F64. */
#define FLOOR 1e-12
#define LEAST_F32 1e-30
#define LEAST_F64 1e-200
#define MOST_F32 1e37
#define MOST_F64 1e300

/* A column's root mean square in memory is below this. */
#define LARGEST_SIZE 1.5

amped_buffers amped_count_model_buffers(amped_count_model *model, const amped_plan *plan) {
  amped_buffers b = {.what = "a model of counts"};
  const uint64_t n = (uint64_t)plan->ncomps;
  AMPED_BUFFER(&b, HOST, model->relative, n);
  AMPED_BUFFER(&b, HOST, model->by, n);
  AMPED_BUFFER(&b, HOST, model->least, n);
  AMPED_BUFFER(&b, HOST, model->raised, n);
  AMPED_BUFFER(&b, HOST, model->size, n);
  AMPED_BUFFER(&b, HOST, model->scale, n);
  return b;
}

static double *sums_of(const amped_count_model *model, int mode) {
  return model->sums + (uint64_t)mode * (uint64_t)model->plan->ncomps;
}

/* Product over modes, except `skip`, of component r's sums. */
static double product_of_sums(const amped_count_model *model, int r, int skip) {
  double product = 1.0;
  for (int m = 0; m < model->plan->order; m++)
    product *= m == skip ? 1.0 : sums_of(model, m)[r];
  return product;
}

static double over(double a, double b) {
  return b > 0.0 ? a / b : 0.0;
}

static double mean_of_cells(const amped_count_model *model) {
  double mean = model->total;
  for (int m = 0; m < model->plan->order; m++)
    mean /= (double)model->plan->dims[m];
  return mean;
}

/* Bound of the sum over nonzeros of x times a product of mode's rows: x sums to the total, and an
 * entry is at most its column's length. */
static double bound_of_sums(const amped_count_model *model, int mode) {
  double bound = model->total;
  for (int m = 0; m < model->plan->order; m++)
    bound *= m == mode ? 1.0 : LARGEST_SIZE * sqrt((double)model->plan->dims[m]);
  return bound;
}

/* The least model value of the ratios of mode. A higher value than necessary is wrong for tensors
 * with a dominant cell: the model of a rare cell is then far below the mean, as is the product of
 * small shares of all modes. */
static double least_of(const amped_count_model *model, int mode) {
  const bool is_float = model->plan->value_type == AMPED_F32;
  const double usual = FLOOR * mean_of_cells(model) / model->unit;
  const double safe = bound_of_sums(model, mode) / (is_float ? MOST_F32 : MOST_F64);
  return fmax(fmin(usual, safe), is_float ? LEAST_F32 : LEAST_F64);
}

void amped_count_model_prepare(amped_count_model *model, int mode) {
  const int n = model->plan->ncomps;
  const double dim = (double)model->plan->dims[mode];
  const double *sums = sums_of(model, mode);
  double largest = 0.0;
  int exponent = 0;
  for (int r = 0; r < n; r++) {
    model->relative[r] = over(model->weights[r], product_of_sums(model, r, -1));
    largest = fmax(largest, model->relative[r]);
  }
  (void)frexp(largest, &exponent);
  model->unit = largest > 0.0 ? ldexp(1.0, exponent - 1) : 1.0;
  for (int r = 0; r < n; r++) {
    model->relative[r] /= model->unit;
    model->by[r] = over(1.0, model->unit * product_of_sums(model, r, mode));
    model->least[r] = ZERO * sums[r] / dim;
    model->raised[r] = RAISED * sums[r] / dim;
    model->size[r] = over(model->weights[r], sums[r]);
  }
  model->floor = least_of(model, mode);
}

amped_ratio amped_count_model_ratio(const amped_count_model *model, bool sums) {
  return (amped_ratio){.weights = model->relative, .least = model->floor, .sums = sums};
}

amped_row_product amped_count_model_product(const amped_count_model *model, bool raises,
                                            bool measures) {
  return (amped_row_product){.by = model->by,
                             .least = raises ? model->least : NULL,
                             .raised = model->raised,
                             .weight = model->size,
                             .measures = measures};
}

bool amped_count_model_take(amped_count_model *model, int mode, const double *sums,
                            const double *squares, bool weighs) {
  const double dim = (double)model->plan->dims[mode];
  double *const old = sums_of(model, mode);
  bool scales = false;
  for (int r = 0; r < model->plan->ncomps; r++) {
    const double size = sqrt(squares[r] / dim);
    model->scale[r] = size > 0.0 ? ldexp(1.0, -(int)lround(log2(size))) : 1.0;
    scales = scales || model->scale[r] != 1.0;
    if (weighs)
      model->weights[r] *= over(sums[r], old[r]);
    old[r] = sums[r] * model->scale[r];
  }
  return scales;
}

static double sum_of_weights(const amped_count_model *model) {
  double sum = 0.0;
  for (int r = 0; r < model->plan->ncomps; r++)
    sum += model->weights[r];
  return sum;
}

void amped_count_model_normalise(amped_count_model *model) {
  const double by = over(model->total, sum_of_weights(model));
  for (int r = 0; r < model->plan->ncomps; r++)
    model->weights[r] *= by;
}

double amped_count_model_deviance(const amped_count_model *model, const amped_ratio_sums *sums) {
  return 2.0 *
         (sums->logs - sums->values * log(model->unit) + (sum_of_weights(model) - sums->values));
}
