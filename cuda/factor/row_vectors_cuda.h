/* Row vectors in device memory. Twin of src/cpu/factor/row_vectors_cpu.c. */
#ifndef AMPED_ROW_VECTORS_CUDA_H
#define AMPED_ROW_VECTORS_CUDA_H

#ifdef __cplusplus
extern "C" {
#endif

#include "backend/row_vectors.h"

extern const amped_row_vector_ops amped_row_vectors_cuda;

#ifdef __cplusplus
}
#endif

#endif
