/* Bench dense: bench of a dense tensor: whole sweeps of CP-ALS, whose updates either contract the
 * tensor or read an earlier contraction, beside the ceiling that the rates of the same run give. */
#ifndef AMPED_BENCH_DENSE_H
#define AMPED_BENCH_DENSE_H

#include "cli/options.h"
#include "session/session.h"

/* Bytes of host memory that the sweeps take on this rank. */
void amped_bench_dense_bytes(const amped_plan *plan, const void *context, uint64_t *device_bytes,
                             uint64_t *host_bytes);

/* Collective, after prepare; the status is agreed. Tells lines and JSON. */
amped_status amped_bench_dense(amped_session *session, const amped_options *o);

#endif
