/* The rates at which the GPU gathers random rows, reads memory in order, and copies from the host:
 * upper bounds for MTTKRP. Twin of src/cpu/device/bandwidth_cpu.h. */
#ifndef AMPED_BANDWIDTH_CUDA_H
#define AMPED_BANDWIDTH_CUDA_H

#include "cuda/device/device_cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Measure as amped_device_ops' gather_rate does. The table uses at most most_bytes of device
 * memory. */
amped_status amped_bandwidth_cuda(const amped_plan *plan, uint64_t rows, uint64_t most_bytes,
                                  int multiprocessors, cudaStream_t stream, double *rows_per_sec);

/* Measure as amped_device_ops' read_rate does, with the same limit. */
amped_status amped_read_cuda(uint64_t most_bytes, int multiprocessors, cudaStream_t stream,
                             double *bytes_per_sec);

/* Measure as amped_device_ops' link_rate does, with the same limit. */
amped_status amped_link_cuda(uint64_t most_bytes, cudaStream_t stream, double *bytes_per_sec);

#ifdef __cplusplus
}
#endif

#endif
