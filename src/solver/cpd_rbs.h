/* CP decomposition by randomised block sampling, of a dense tensor: Vervliet and De Lathauwer, "A
 * randomized block sampling approach to canonical polyadic decomposition of large-scale tensors",
 * IEEE Journal of Selected Topics in Signal Processing 10 (2016).
 *
 * A sweep of the loop (iterate.h) is an epoch: it visits each index of every mode once, and draws
 * new blocks or groups of slices (rbs_sample.h). Every block gets one sweep of ALS over its cells
 * alone, with a proximal term:
 *
 *     new rows = (W + l t old rows) (V + l t I)^-1,    t = trace(V) / R
 *
 * W is MTTKRP of the block, V the Hadamard product of the grams of its rows. In the search l falls
 * from 1 to 1e-6, so that blocks agree on components before each fits its own cells. Then it grows,
 * and steps become small: noise, by which blocks differ, is averaged out.
 * Rows of slices' own mode have all their cells in the group, and keep the least l.
 *
 *   blocks  share no index, so they are updated at the same time, by ranks and threads
 *   slices  of a group are one block over all ranks; they have all indices of the other modes, for
 *           which the sums of ranks are added up
 *
 * Between epochs columns have unit length, with weights apart; in an epoch their lengths are the
 * same in all modes. So blocks do not drift apart in scale. The metric is the fit of a sample of
 * cells (cell_sample.h). The run stops where steps are restricted and rows of no mode move by tol,
 * relative to their size, on the average of an epoch. Sweeps of ALS follow (cpd_als.h).
 *
 * Of modes that are nonnegative, the rows of a block come by row descent (row_descent.h). */
#ifndef AMPED_CPD_RBS_H
#define AMPED_CPD_RBS_H

#include "load/slice_reader.h"
#include "solver/cpd_options.h"
#include "solver/iterate.h"
#include "solver/rbs_settings.h"

extern const amped_solver amped_cpd_rbs_solver; /* its metric is the fit */

/* Can this worker do it? */
bool amped_cpd_rbs_is_possible(const amped_worker *worker);

/* Adds the bytes that a run takes on this rank. AMPED_FAILED: sizes that no machine holds. */
amped_status amped_cpd_rbs_require(const amped_worker *worker, const amped_plan *plan,
                                   const amped_rbs_settings *settings, uint64_t *device_bytes,
                                   uint64_t *host_bytes);

/* What a run samples, and how. */
typedef struct amped_cpd_sampling {
  const amped_rbs_settings *settings;
  amped_dense_source *source; /* the file of cells that stay outside (dense_plan.h); else NULL */
  uint64_t seed;
} amped_cpd_sampling;

/* Collective; the status is agreed; a status of after_sweep is passed on. Starts from the factors
 * of the context, or goes on from options->start, whose run had the same samples. Of `how`,
 * sampling and the modes that are nonnegative are used. options->iters is not used. The caller
 * frees the result. */
amped_status amped_cpd_rbs(const amped_context *context, const amped_cpd_options *how,
                           const amped_iterate_options *options, amped_solver_result *result);

#endif
