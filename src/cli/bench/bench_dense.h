/* Bench dense: `bench` of a dense tensor. Times whole sweeps of CP-ALS, in which an update either
 * contracts the tensor or reads an earlier contraction. Compares them with the ceiling from the
 * rates measured in the same run. */
#ifndef AMPED_BENCH_DENSE_H
#define AMPED_BENCH_DENSE_H

#include "cli/options.h"
#include "session/session.h"

/* Adds the bytes of host memory that the sweeps take on this rank. */
void amped_bench_dense_bytes(const amped_plan *plan, const void *context, uint64_t *device_bytes,
                             uint64_t *host_bytes);

/* Collective, after prepare; the status is agreed. Prints the results and writes them as JSON. */
amped_status amped_bench_dense(amped_session *session, const amped_options *o);

#endif
