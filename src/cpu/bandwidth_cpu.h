/* Bandwidth: the rates at which CPU cores gather random rows and read memory in order. They are the
 * ceilings of MTTKRP. Twin of cuda/device/bandwidth_cuda.h. Not collective. */
#ifndef AMPED_BANDWIDTH_CPU_H
#define AMPED_BANDWIDTH_CPU_H

#include "plan/plan.h"

/* As amped_device_ops' gather_rate and read_rate, with so many threads: rows and bytes a
 * second; 0 where memory is short. Each takes host memory for its table, and frees it. */
amped_status amped_bandwidth_cpu(const amped_plan *plan, uint64_t rows, int threads,
                                 double *rows_per_sec);
amped_status amped_read_cpu(int threads, double *bytes_per_sec);

#endif
