/* The factors of one rank in device memory. Twin of src/cpu/factor/factor_set_cpu.c. */
#ifndef AMPED_FACTOR_SET_CUDA_H
#define AMPED_FACTOR_SET_CUDA_H

#ifdef __cplusplus
extern "C" {
#endif

#include "backend/backend.h"

extern const amped_factor_ops amped_factor_set_cuda;

/* Returns mode's factor, and the MTTKRP result; device memory, owned by the set. */
void *amped_factor_set_cuda_rows(const amped_factor_set *factors, int mode);
void *amped_factor_set_cuda_output(const amped_factor_set *factors);
/* Element of both at which the set's first column of a row lies; elements from row to row. */
uint64_t amped_factor_set_cuda_at(const amped_factor_set *factors, uint64_t row);
uint64_t amped_factor_set_cuda_ld(const amped_factor_set *factors);

/* Copy from host memory to d_in, and from d_out to host memory, and wait. The link to the host
 * carries both directions at once. */
amped_status amped_stage_cuda(const amped_device *device, void *d_in, const void *d_out,
                              const amped_host_copy *copies, int count);

#ifdef __cplusplus
}
#endif

#endif
