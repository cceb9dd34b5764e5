/* CP decomposition by randomised block sampling, for dense tensors: Vervliet and De Lathauwer, "A
 * randomized block sampling approach to canonical polyadic decomposition of large-scale tensors",
 * IEEE Journal of Selected Topics in Signal Processing 10 (2016).
 *
 * A sweep of the loop (iterate.h) is an epoch: it visits each index of every mode once, and draws
 * new blocks or groups of slices (rbs_sample.h). Every block gets one sweep of ALS over its own
 * cells, with a proximal term:
 *
 *     new rows = (W + l t old rows) (V + l t I)^-1,    t = trace(V) / R
 *
 * W is the block's MTTKRP, V the Hadamard product of the grams of its rows. In the search l falls
 * from 1 to 1e-6, so that blocks agree on components before each block fits its own cells. The
 * first step of blocks has l = 1e-6: it fits its cells, so that components of the start separate.
 * Afterwards l grows and steps become small; this averages out the noise by which blocks differ.
 * Rows of the slices' own mode have all their cells in the group, and keep the smallest l.
 *
 *   blocks  share no index, so ranks and threads update them at the same time
 *   slices  of a group form one block over all ranks. They have all indices of the other modes, so
 *           the sums of ranks are added up
 *
 * Between epochs columns have unit length, with separate weights. During an epoch a component's
 * columns have the same length in all modes, so that blocks do not drift apart in scale. The metric
 * is the fit of a sample of cells (cell_sample.h). The run stops if steps are restricted and rows
 * of every mode move by less than tol, relative to their size, on the average of an epoch. Sweeps
 * of ALS follow (cpd_als.h) until the fit of all cells changes by less than tol / 100. Without such
 * sweeps one more pass finds the fit of all cells, so that a result's fit is never of samples.
 *
 * If a mode is nonnegative, the rows of a block come from row descent (row_descent.h). */
#ifndef AMPED_CPD_RBS_H
#define AMPED_CPD_RBS_H

#include "load/slice_reader.h"
#include "solver/cpd/cpd_options.h"
#include "solver/iterate.h"
#include "solver/cpd/rbs_settings.h"

extern const amped_solver amped_cpd_rbs_solver; /* metric: the fit */

/* Returns true if this worker can run it. */
bool amped_cpd_rbs_is_possible(const amped_worker *worker);

/* Adds the bytes that a run takes on this rank. Returns AMPED_FAILED if sizes exceed any
 * machine. */
amped_status amped_cpd_rbs_require(const amped_worker *worker, const amped_plan *plan,
                                   const amped_rbs_settings *settings, uint64_t *device_bytes,
                                   uint64_t *host_bytes);

/* Settings of a run's sampling, and the source of its cells. */
typedef struct amped_cpd_sampling {
  const amped_rbs_settings *settings;
  amped_dense_source *source; /* file, if cells stay outside memory (dense_plan.h); else NULL */
  uint64_t seed;
} amped_cpd_sampling;

/* Collective; the status is agreed; a status from after_sweep is passed on. Starts from the
 * context's factors, or resumes options->start, whose run must have had the same samples. Only the
 * sampling and the nonnegative modes of `how` are used. options->iters is not used. The caller
 * frees the result. */
amped_status amped_cpd_rbs(const amped_context *context, const amped_cpd_options *how,
                           const amped_iterate_options *options, amped_solver_result *result);

#endif
