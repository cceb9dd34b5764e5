/* CP decomposition by alternating least squares (ALS): Kolda & Bader 2009, figure 3.3.
 *
 * A sweep updates every mode (mode_update.h) in these steps:
 *   1. MTTKRP
 *   2. new own rows: MTTKRP's rows times the inverse of V, the Hadamard product of the other modes'
 *      grams. What V does not resolve keeps its old value (normal_equations.h). Under a row rule
 *      (row_rule.h) V gets penalties. Rows that are nonnegative or have an l1 penalty come from row
 *      descent
 *   3. the gram of the new factor, which step 2 has added up, summed over ranks
 *   4. columns to unit length; their lengths become the weights
 * After the last mode, the fit 1 - |X - M| / |X| follows from the last MTTKRP and the grams. It is
 * computed in double, without forming M. */
#ifndef AMPED_CPD_ALS_H
#define AMPED_CPD_ALS_H

#include "solver/cpd/acceleration.h"

extern const amped_solver amped_cpd_als_solver; /* metric: the fit */

/* Returns the solver with this acceleration (acceleration.h); static memory. */
const amped_solver *amped_cpd_solver_of(amped_accelerate how);

/* Collective; the status is agreed; a status from after_sweep is passed on. Starts from the
 * context's factors. The caller frees the result. */
amped_status amped_cpd_als(const amped_context *context, const amped_iterate_options *options,
                           amped_solver_result *result);

/* amped_cpd_als with the acceleration and the row rule of `how`. before: second set of factors,
 * from the same checkpoint as options->start; used only if `how` accelerates. */
amped_status amped_cpd_run(const amped_context *context, const amped_cpd_options *how,
                           const amped_saved_factors *before, const amped_iterate_options *options,
                           amped_solver_result *result);

/* A model of a run of several side by side; borrowed members, as for amped_cpd_run. */
typedef struct amped_cpd_model {
  const amped_context *context; /* the whole factors', or some columns' (factor/columns.h) */
  const amped_saved_factors *before;
  const amped_iterate_options *options;
  amped_solver_result *result;
} amped_cpd_model;

/* Collective; the status is agreed; a status from after_sweep or a hook is passed on. Run models
 * side by side: all sweep together until they end. hooks: iterate.h. The caller frees the results
 * of models that ended; a failure frees all. A hook that takes a result leaves zeroes. */
amped_status amped_cpd_run_all(const amped_cpd_options *how, int count,
                               const amped_cpd_model *models, const amped_iterate_hooks *hooks);

/* Adds the bytes that a run takes in addition to the factors. */
void amped_cpd_require(const amped_worker *worker, const amped_plan *plan,
                       const amped_cpd_options *how, uint64_t *device_bytes, uint64_t *host_bytes);

#endif
