/* Prediction errors: sums over the cells for which a model's value and the true value are known. */
#ifndef AMPED_PREDICTION_ERRORS_H
#define AMPED_PREDICTION_ERRORS_H

#include <stdint.h>

#include "base/facts.h"
#include "base/kahan.h"

/* Begins zeroed. clipped: squares of errors after predictions were cut to --clip. */
typedef struct amped_prediction_errors {
  uint64_t count;
  amped_kahan squares, sizes, clipped;
} amped_prediction_errors;

/* Add a cell. clipped: the error after the prediction was cut. */
void amped_prediction_errors_add(amped_prediction_errors *errors, double error, double clipped);

/* Root mean square error; NaN without a cell. */
double amped_prediction_errors_rmse(const amped_prediction_errors *errors);

/* Mean absolute error; NaN without a cell. */
double amped_prediction_errors_mae(const amped_prediction_errors *errors);

/* Add an error, with a line if it is known. */
void amped_prediction_error_fact(const char *key, const char *what, bool known, double error,
                                 amped_facts *facts);

/* Add rmse and mae; and, if predictions were cut, the clipped rmse. known: false if there are no
 * true values. */
void amped_prediction_errors_facts(const amped_prediction_errors *errors, bool known, bool cut,
                                   amped_facts *facts);

#endif
