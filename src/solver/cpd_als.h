/* CP decomposition by alternating least squares: Kolda & Bader 2009, figure 3.3.
 *
 * A sweep updates every mode (mode_update.h): MTTKRP; own rows times the inverse of the Hadamard
 * product of the other modes' grams; gram of the result, summed over ranks; columns to unit length,
 * lengths to weights. After the last mode the fit 1 - |X - M| / |X| follows from the last MTTKRP
 * and the grams, in double, without forming M. */
#ifndef AMPED_CPD_ALS_H
#define AMPED_CPD_ALS_H

#include "solver/iterate.h"

/* Collective; the status is agreed, that of after_sweep is passed on. Starts from the factors that
 * the context holds. The caller frees the result, whose metric is the fit. */
amped_status amped_cpd_als(const amped_context *context, const amped_iterate_options *options,
                           amped_solver_result *result);

#endif
