/* Residual: |X - M|^2 of the factors as stored, for fits at which a solver's quick formula cancels.
 *
 * |X - M|^2 = |X|^2 + |M|^2 - 2 (X, M), with each term in double-double (base/double_double.h).
 * |M|^2 comes from the factors' grams over all rows, the other two from a pass over all nonzeros.
 * Terms that cancel are therefore known to about 2^-80 of their size (docs/numerics.md). The cost
 * is one gram and one MTTKRP, in double-double. */
#ifndef AMPED_RESIDUAL_H
#define AMPED_RESIDUAL_H

#include "factor/context.h"
#include "solver/fixed_modes.h"

typedef struct amped_residual {
  double part;  /* |X - M|^2 / |X|^2, at least 0 */
  double error; /* bound of the error of part */
} amped_residual;

/* A pass over this rank's nonzeros in place of the tensor format's, for cells that are not in
 * memory: *out = the sums of values x times scale, and of their products with the model's values.
 */
typedef struct amped_residual_pass {
  amped_status (*run)(void *self, double scale, const double *weights, amped_products *out);
  void *self;
} amped_residual_pass;

/* Returns true if the context's tensor format can measure it. */
bool amped_residual_is_possible(const amped_context *context);

/* Collective, between sweeps; the status is agreed. The factors of all modes have arrived on every
 * rank, with columns of about unit length or zero columns. fixed: its rows outside the tensor
 * count in |M|^2, in double; NULL: none. pass: NULL for the format's. The output is
 * overwritten. The result is the same on every rank. */
amped_status amped_residual_measure(const amped_context *context, const amped_fixed_modes *fixed,
                                    const amped_residual_pass *pass, const double *weights,
                                    amped_residual *out);

/* Bytes of host memory that measure takes on every rank. */
uint64_t amped_residual_host_bytes(const amped_plan *plan);

#endif
