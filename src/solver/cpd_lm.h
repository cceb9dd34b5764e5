/* CP decomposition by the method of Levenberg and Marquardt: damped Gauss-Newton steps of all
 * factors at once (Tomasi & Bro 2006; Sorber, Van Barel, De Lathauwer 2013).
 *
 * The point x has mode m's unit columns times weights^(1 / order): all modes share a component's
 * length. A step z makes |X - M|^2 / 2 less as its Gauss-Newton model has it:
 *
 *     (J'J + mu I) z = -g,     g_m = A_m V_m - W_m,     W_m: MTTKRP of mode m
 *
 * by conjugate gradients on own rows, preconditioned by (V_m + mu I)^-1. J'J z needs grams and
 * cross grams alone, no pass over the tensor; an iteration costs two all-reduces of small matrices.
 *
 * A sweep is one step. It makes MTTKRP of all modes at x, and of mode 0 at x + z, which tells
 * whether |X - M| is less. If so x moves, and that MTTKRP is the next sweep's first; mu becomes a
 * fifth where the model foretold the fall well. Else x stays, mu becomes four times as large, and
 * the next sweep has all of its MTTKRPs but that of its own step.
 *
 * The state of a checkpoint is the unit model and the numbers below. */
#ifndef AMPED_CPD_LM_H
#define AMPED_CPD_LM_H

#include "solver/cpd_options.h"
#include "solver/iterate.h"

extern const amped_solver amped_cpd_lm_solver; /* its metric is the fit */

/* Collective; the status is agreed; a status of after_sweep is passed on. Starts from the factors
 * of the context, in all directions scaled to fit best. The caller frees the result. */
amped_status amped_cpd_lm(const amped_context *context, const amped_iterate_options *options,
                          amped_solver_result *result);

/* Adds the bytes that a run takes beside the factors. */
void amped_cpd_lm_require(const amped_worker *worker, const amped_plan *plan,
                          uint64_t *device_bytes, uint64_t *host_bytes);

#endif
