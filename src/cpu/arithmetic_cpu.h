/* Arithmetic: the rate at which CPU cores multiply and add: the ceiling of row fits' assembly. Twin
 * of cuda/device/arithmetic_cuda.h. Not collective. */
#ifndef AMPED_ARITHMETIC_CPU_H
#define AMPED_ARITHMETIC_CPU_H

#include "base/status.h"
#include "base/types.h"

/* As amped_device_ops' multiply_rate, with so many threads. Takes host memory for the matrices, and
 * frees it. */
amped_status amped_arithmetic_cpu(amped_vtype type, int threads, double *per_sec);

#endif
