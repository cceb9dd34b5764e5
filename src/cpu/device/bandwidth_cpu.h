/* Bandwidth: the rates at which CPU cores gather random rows and read memory in order. They bound
 * MTTKRP. Twin of cuda/device/bandwidth_cuda.h. Not collective. */
#ifndef AMPED_BANDWIDTH_CPU_H
#define AMPED_BANDWIDTH_CPU_H

#include "plan/plan.h"

/* Measure amped_device_ops' gather_rate (rows per second) and read_rate (bytes per second) with
 * this number of threads. 0 if memory is short. Each allocates host memory for its table, and frees
 * it. */
amped_status amped_bandwidth_cpu(const amped_plan *plan, uint64_t rows, int threads,
                                 double *rows_per_sec);
amped_status amped_read_cpu(int threads, double *bytes_per_sec);

#endif
