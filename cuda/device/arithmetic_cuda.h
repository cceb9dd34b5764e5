/* Arithmetic: multiply-adds per second of the GPU, the upper bound for the assembly of row fits.
 * Twin of src/cpu/device/arithmetic_cpu.h. */
#ifndef AMPED_ARITHMETIC_CUDA_H
#define AMPED_ARITHMETIC_CUDA_H

#include "cuda/device/device_cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

/* *per_sec: multiply-adds per second in products of large matrices (amped_device_ops'
 * multiply_rate); 0 if the matrices do not fit in most_bytes of device memory. Floats: the faster
 * of FP32 and three TF32 products; with tf32, one TF32 product. */
amped_status amped_arithmetic_cuda(amped_vtype type, bool tf32, uint64_t most_bytes,
                                   cudaStream_t stream, double *per_sec);

#ifdef __cplusplus
}
#endif

#endif
