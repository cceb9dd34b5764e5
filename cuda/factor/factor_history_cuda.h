/* Earlier factors in device memory. Twin of src/cpu/factor/factor_history_cpu.c. */
#ifndef AMPED_FACTOR_HISTORY_CUDA_H
#define AMPED_FACTOR_HISTORY_CUDA_H

#ifdef __cplusplus
extern "C" {
#endif

#include "backend/factor_history.h"

extern const amped_factor_history_ops amped_factor_history_cuda;

#ifdef __cplusplus
}
#endif

#endif
