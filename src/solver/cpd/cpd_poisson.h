/* Poisson CP: a nonnegative model of counts, by expectation maximisation, a mode at a time (Chi &
 * Kolda, SIAM J. Matrix Anal. Appl. 33, 2012: CP-APR with one inner step).
 *
 * The objective is the sum of the model over all cells, minus the sum over nonzeros of x log m. The
 * first sum is the sum of the weights, so no zero is visited. A sweep updates every mode:
 *   1. ratios: the sums over each row's nonzeros of x / m times the other modes' rows
 *      (backend/ratio.h)
 *   2. own rows times these sums (backend/row_product.h); an entry that is 0 although the sums ask
 *      for more is raised
 *   3. the columns' sums over ranks, which change the weights
 * The deviance of a sweep comes from the ratios of its last mode: it is the deviance before that
 * mode's update. After the last sweep one more sweep of ratios measures the final model.
 *
 * With --accelerate=momentum a sweep begins beyond the current model, by Nesterov's steps in the
 * logarithm. A sweep with a step, or with raised entries, is taken back if the deviance rose; the
 * next sweep is then a plain one. Entries are raised again after a pause, which doubles each time.
 * A plain sweep never raises the deviance.
 *
 * A checkpoint's state is the model before (factor_history.h), and the solver's numbers. */
#ifndef AMPED_CPD_POISSON_H
#define AMPED_CPD_POISSON_H

#include "factor/saved_factors.h"
#include "solver/cpd/cpd_options.h"
#include "solver/iterate.h"

/* Returns the solver with the acceleration of `how`; static memory. Metric: the share of the
 * deviance of the model of independent modes that is explained. */
const amped_solver *amped_cpd_poisson_solver(const amped_cpd_options *how);

/* Collective; the status is agreed; a status from after_sweep is passed on. Starts from the
 * context's factors. before: second set of factors, from the checkpoint of options->start; used
 * only if `how` accelerates. The caller frees the result. */
amped_status amped_cpd_poisson(const amped_context *context, const amped_cpd_options *how,
                               const amped_saved_factors *before,
                               const amped_iterate_options *options, amped_solver_result *result);

/* Adds the bytes that a run takes in addition to the factors. */
void amped_cpd_poisson_require(const amped_worker *worker, const amped_plan *plan,
                               const amped_cpd_options *how, uint64_t *device_bytes,
                               uint64_t *host_bytes);

#endif
