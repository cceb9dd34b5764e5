/* Arithmetic: the rate at which CPU cores multiply and add. It bounds the assembly of row fits.
 * Twin of cuda/device/arithmetic_cuda.h. Not collective. */
#ifndef AMPED_ARITHMETIC_CPU_H
#define AMPED_ARITHMETIC_CPU_H

#include "base/status.h"
#include "base/types.h"

/* Measure amped_device_ops' multiply_rate with this number of threads. Allocates host memory for
 * the matrices, and frees it. */
amped_status amped_arithmetic_cpu(amped_vtype type, int threads, double *per_sec);

#endif
