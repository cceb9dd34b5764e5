/* Fit: 1 - |X - M| / |X| of a unit model, from an MTTKRP and the grams, without forming M.
 *
 * It is computed in double. Near 1 the terms of the quick formula cancel; then a pass over all
 * nonzeros finds the residual (residual.h). */
#ifndef AMPED_FIT_H
#define AMPED_FIT_H

#include "solver/fixed_modes.h"
#include "solver/iterate.h"
#include "solver/residual.h"

typedef struct amped_fit {
  const amped_context *context;
  const amped_fixed_modes *fixed;  /* NULL: none */
  const amped_residual_pass *pass; /* NULL: the tensor format's */
  amped_solver_result *result;     /* read: weights of the model; written: number of passes */
  double *v;                       /* workspace, [ncomps][ncomps] */
  bool shown_pass;
} amped_fit;

/* Collective. *part = |X - M|^2 / |X|^2, with inner = <X, M>; NaN if factors overflow. *noise = the
 * fit's rounding error. The output may be overwritten. status: this rank's own so far. The returned
 * status is agreed if a pass was made; otherwise it is this rank's own. */
amped_status amped_fit_find(amped_fit *fit, uint64_t sweep, const double *const *grams,
                            double inner, amped_status status, double *part, double *noise);

/* The fit of a model whose |X - M|^2 / |X|^2 is part: 1 for a part that rounding took below 0, NaN
 * for a NaN. */
double amped_fit_of_part(double part);

/* Ok if the number is finite. If not, an error that calls it "the fit", "the gradient" ... after
 * this sweep; unit: "sweep" or "epoch". Local: all ranks have the same number. */
amped_status amped_fit_check(const char *name, double number, const char *unit, uint64_t sweep);

/* Collective, after the last sweep; the status is agreed. If sweeps rounded products to TF32,
 * *value becomes the fit by exact products. */
amped_status amped_fit_finish(amped_fit *fit, double *value);

#endif
