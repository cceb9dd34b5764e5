/* Earlier factors in device memory. Twin of src/cpu/factor/factor_past_cpu.c. */
#ifndef AMPED_FACTOR_PAST_CUDA_H
#define AMPED_FACTOR_PAST_CUDA_H

#ifdef __cplusplus
extern "C" {
#endif

#include "backend/factor_past.h"

extern const amped_factor_past_ops amped_factor_past_cuda;

#ifdef __cplusplus
}
#endif

#endif
