/* Completion baselines: errors of models without components, at the entries that validate and test.
 * A completion is worth its components if its errors are clearly lower.
 *
 * mean: the training values' mean, by weight, at every cell. biases: mean and biases that minimise
 * the completion's objective without its components,
 *
 *     sum over training entries of w (y - sum of biases)^2 + sum over biases of reg_bias b^2
 *
 * The same row fits find them: a row of zeros whose prior is 0 has the solution 0, so that one
 * component that begins with zeros stays zero, and biases are fitted alone. */
#ifndef AMPED_COMPLETE_BASELINES_H
#define AMPED_COMPLETE_BASELINES_H

#include "solver/complete/complete_errors.h"

typedef struct amped_complete_baselines {
  amped_complete_errors mean;
  amped_complete_errors biases; /* counts 0 if the problem's fit has no biases */
} amped_complete_baselines;

/* Number of components, with the column of biases, for which the context must be set up. */
int amped_complete_baseline_columns(const amped_complete_problem *problem);

/* Collective; the status is agreed. Never with implicit fits. Overwrites the context's factors.
 * Sweeps end when the objective falls by less than 1e-7 of it, or after 20 of them: the rmse of
 * four real tensors is then off by at most 4e-5 of it. */
amped_status amped_complete_baselines_find(const amped_context *context,
                                           const amped_complete_problem *problem,
                                           amped_complete_baselines *out);

#endif
