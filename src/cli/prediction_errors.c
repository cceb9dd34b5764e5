/* Prediction errors: sums, means and facts. */
#include "cli/prediction_errors.h"

#include <math.h>

#include "tensor/format.h"

void amped_prediction_errors_add(amped_prediction_errors *e, double error, double clipped) {
  e->count++;
  amped_kahan_add(&e->squares, error * error);
  amped_kahan_add(&e->sizes, fabs(error));
  amped_kahan_add(&e->clipped, clipped * clipped);
}

static double root_mean(const amped_kahan *sum, uint64_t count) {
  return count > 0 ? sqrt(amped_kahan_value(sum) / (double)count) : (double)NAN;
}

double amped_prediction_errors_rmse(const amped_prediction_errors *e) {
  return root_mean(&e->squares, e->count);
}

double amped_prediction_errors_mae(const amped_prediction_errors *e) {
  return e->count > 0 ? amped_kahan_value(&e->sizes) / (double)e->count : (double)NAN;
}

void amped_prediction_error_fact(const char *key, const char *what, bool known, double error,
                                 amped_facts *f) {
  amped_fact_json(f, key, known ? amped_json_number(error) : json_null());
  if (known)
    amped_fact_words(f, "%s %.9g\n", what, error);
}

void amped_prediction_errors_facts(const amped_prediction_errors *e, bool known, bool cut,
                                   amped_facts *f) {
  amped_prediction_error_fact("rmse", "rmse        ", known, amped_prediction_errors_rmse(e), f);
  amped_prediction_error_fact("mae", "mae         ", known, amped_prediction_errors_mae(e), f);
  amped_prediction_error_fact("rmse_clipped", "rmse clipped", known && cut,
                              root_mean(&e->clipped, e->count), f);
}
