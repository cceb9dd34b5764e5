/* Fit: 1 - |X - M| / |X| of a unit model, from an MTTKRP and the grams, without forming M.
 *
 * It is computed in double. Near 1 the terms of the quick formula cancel; then a pass over all
 * nonzeros finds the residual (residual.h). */
#ifndef AMPED_FIT_H
#define AMPED_FIT_H

#include "solver/iterate.h"

typedef struct amped_fit {
  const amped_context *context;
  amped_solver_result *result; /* its weights are the model's; passes are counted there */
  double *v;                   /* room for [ncomps][ncomps] */
  bool told_pass;
} amped_fit;

/* Collective. *part = |X - M|^2 / |X|^2, where inner = <X, M>; it may be NaN, where factors
 * overflow. *noise: the fit's rounding error. The output may be used. `status` is this rank's own
 * so far. The status of the return is agreed if a pass was made, else this rank's own. */
amped_status amped_fit_find(amped_fit *fit, uint64_t sweep, const double *const *grams,
                            double inner, amped_status status, double *part, double *noise);

/* Collective, after the last sweep: *value becomes that of exact products, where those of sweeps
 * were rounded to TF32. The status is agreed. */
amped_status amped_fit_finish(amped_fit *fit, double *value);

#endif
