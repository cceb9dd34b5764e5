/* Arithmetic: the rate at which the GPU multiplies and adds: the ceiling of row fits' assembly.
 * Twin of src/cpu/arithmetic_cpu.h. */
#ifndef AMPED_ARITHMETIC_CUDA_H
#define AMPED_ARITHMETIC_CUDA_H

#include "cuda/device/device_cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

/* As amped_device_ops' multiply_rate; with tf32 of floats that are rounded to it. The matrices take
 * at most most_bytes of device memory. */
amped_status amped_arithmetic_cuda(amped_vtype type, bool tf32, uint64_t most_bytes,
                                   cudaStream_t stream, double *per_sec);

#ifdef __cplusplus
}
#endif

#endif
