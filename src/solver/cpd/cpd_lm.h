/* CP decomposition by the method of Levenberg and Marquardt: damped Gauss-Newton steps of all
 * factors at once (Tomasi & Bro 2006; Sorber, Van Barel, De Lathauwer 2013).
 *
 * The point x has mode m's unit columns times weights^(1 / order): all modes share a component's
 * length. A step z reduces |X - M|^2 / 2 according to its Gauss-Newton model:
 *
 *     (J'J + mu I) z = -g,     g_m = A_m V_m - W_m,     W_m: MTTKRP of mode m
 *
 * The step is found by conjugate gradients on own rows, preconditioned by (V_m + mu I)^-1. J'J z
 * needs only grams and cross grams, and no pass over the tensor. An iteration costs two all-reduces
 * of small matrices.
 *
 * A sweep is one step. It computes the MTTKRP of all modes at x, and of mode 0 at x + z. The last
 * one shows whether |X - M| is smaller. If so, x moves, and this MTTKRP is the next sweep's first;
 * mu becomes a fifth if the model predicted the decrease well. Otherwise x stays and mu becomes
 * four times as large; the next sweep reuses all MTTKRPs at x.
 *
 * The state of a checkpoint is the unit model and the solver's numbers (cpd_lm.c). */
#ifndef AMPED_CPD_LM_H
#define AMPED_CPD_LM_H

#include "solver/cpd/cpd_options.h"
#include "solver/iterate.h"

extern const amped_solver amped_cpd_lm_solver; /* metric: the fit */

/* Collective; the status is agreed; a status from after_sweep is passed on. Starts from the
 * context's factors; the model is first multiplied by the number that gives the best fit. The
 * caller frees the result. */
amped_status amped_cpd_lm(const amped_context *context, const amped_iterate_options *options,
                          amped_solver_result *result);

/* Adds the bytes that a run takes in addition to the factors. */
void amped_cpd_lm_require(const amped_worker *worker, const amped_plan *plan,
                          uint64_t *device_bytes, uint64_t *host_bytes);

#endif
