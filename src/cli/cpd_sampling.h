/* CPD sampling: what cpd checks, sets and tells of --method=rbs (solver/cpd_rbs.h). */
#ifndef AMPED_CPD_SAMPLING_H
#define AMPED_CPD_SAMPLING_H

#include "cli/options.h"
#include "session/session.h"
#include "solver/cpd_rbs.h"

/* Is that the method? */
bool amped_cpd_samples(const amped_options *options);

/* AMPED_USAGE where the options exclude each other, with any method. */
amped_status amped_cpd_sampling_check(const amped_options *options);

/* Collective: do slabs, and what goes with them, take more than --memory, or, without that, more
 * host memory than is free? Of this rank's bytes. The same on every rank. Blocks are in memory in
 * any case. */
bool amped_cpd_sampling_left_outside(const amped_session *session, const amped_options *options,
                                     const amped_requirement *required);

/* Before the first cell is read; nothing with another method. AMPED_USAGE where the plan's tensor
 * cannot be sampled so, AMPED_FAILED where it is too large. require adds the bytes that a run takes
 * after this check. */
amped_status amped_cpd_sampling_check_plan(const amped_session *session,
                                           const amped_options *options, const amped_plan *plan);
void amped_cpd_sampling_require(const amped_worker *worker, const amped_options *options,
                                const amped_plan *plan, uint64_t *device_bytes,
                                uint64_t *host_bytes);

/* Collective; the status is agreed. The settings of a run with the plan's components, which are
 * told; nothing with another method. */
amped_status amped_cpd_sampling_set(amped_session *session, const amped_options *options,
                                    amped_rbs_settings *settings);

/* Passes over the tensor, of a result of such a run: as json_passes of cmd_cpd.c. */
json_t *amped_cpd_sampling_passes(const amped_rbs_settings *settings, const amped_plan *plan,
                                  const amped_solver_result *result);

#endif
