/* Row store of the CUDA backend: the twin of src/cpu/complete/row_store_cpu.c. */
#ifndef AMPED_ROW_STORE_CUDA_H
#define AMPED_ROW_STORE_CUDA_H

#ifdef __cplusplus
extern "C" {
#endif

#include "backend/row_store.h"

extern const amped_row_store_ops amped_row_store_cuda;

#ifdef __cplusplus
}
#endif

#endif
