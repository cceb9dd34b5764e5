/* CPD sampling: checks, settings and reports of cpd for --method=rbs (solver/cpd/cpd_rbs.h). */
#ifndef AMPED_CPD_SAMPLING_H
#define AMPED_CPD_SAMPLING_H

#include "cli/options.h"
#include "session/session.h"
#include "solver/cpd/cpd_rbs.h"

/* Is the method rbs? */
bool amped_cpd_samples(const amped_options *options);

/* Collective: must the tensor stay in its file? True if slabs and their workspace take more than
 * --memory on any rank or, without --memory, more host memory than is free. required: this rank's
 * bytes. The same on every rank. With blocks, the tensor is always in memory. */
bool amped_cpd_sampling_left_outside(const amped_session *session, const amped_options *options,
                                     const amped_requirement *required);

/* check_plan is called before the first cell is read. AMPED_USAGE: the plan's tensor cannot be
 * sampled. AMPED_FAILED: it is too large. require adds the bytes that a run takes after this check.
 * Both do nothing for another method. */
amped_status amped_cpd_sampling_check_plan(const amped_session *session,
                                           const amped_options *options, const amped_plan *plan);
void amped_cpd_sampling_require(const amped_worker *worker, const amped_options *options,
                                const amped_plan *plan, uint64_t *device_bytes,
                                uint64_t *host_bytes);

/* Collective; the status is agreed. Make and report the settings of a run with the plan's
 * components. Does nothing for another method. */
amped_status amped_cpd_sampling_set(amped_session *session, const amped_options *options,
                                    amped_rbs_settings *settings);

#endif
