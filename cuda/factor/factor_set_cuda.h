/* The factors of one rank in device memory: twin of src/cpu/factor_set_cpu.c. */
#ifndef AMPED_FACTOR_SET_CUDA_H
#define AMPED_FACTOR_SET_CUDA_H

#ifdef __cplusplus
extern "C" {
#endif

#include "backend/backend.h"

extern const amped_factor_ops amped_factor_set_cuda;

/* Device memory: mode's factor, and the MTTKRP result. */
void *amped_factor_set_cuda_rows(const amped_factor_set *factors, int mode);
void *amped_factor_set_cuda_output(const amped_factor_set *factors);

#ifdef __cplusplus
}
#endif

#endif
