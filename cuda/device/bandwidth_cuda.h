/* The rates at which the GPU gathers random rows and reads memory in order: the ceilings of MTTKRP.
 * Twin of src/cpu/bandwidth_cpu.h. */
#ifndef AMPED_BANDWIDTH_CUDA_H
#define AMPED_BANDWIDTH_CUDA_H

#include "cuda/device/device_cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

/* As amped_device_ops' gather_rate. The table takes at most most_bytes of device memory. */
amped_status amped_bandwidth_cuda(const amped_plan *plan, uint64_t rows, uint64_t most_bytes,
                                  int multiprocessors, cudaStream_t stream, double *rows_per_sec);

/* As amped_device_ops' read_rate, likewise. */
amped_status amped_read_cuda(uint64_t most_bytes, int multiprocessors, cudaStream_t stream,
                             double *bytes_per_sec);

/* As amped_device_ops' link_rate, likewise. */
amped_status amped_link_cuda(uint64_t most_bytes, cudaStream_t stream, double *bytes_per_sec);

#ifdef __cplusplus
}
#endif

#endif
