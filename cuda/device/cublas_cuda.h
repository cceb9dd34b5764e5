/* cuBLAS, loaded at its first call.
 *
 * The libraries have 600 MB, and their relocation takes a process 70 ms. Most commands, and every
 * run on CPUs, never call them. The functions have the names and contracts of cublas_v2.h. If the
 * library is missing they return CUBLAS_STATUS_NOT_INITIALIZED. A cuBLAS function that this program
 * does not use yet needs a few lines in cublas_cuda.cu.
 *
 * Other headers name a handle `struct cublasContext *`: cublas_v2.h costs a unit seconds of nvcc.
 */
#ifndef AMPED_CUBLAS_CUDA_H
#define AMPED_CUBLAS_CUDA_H

#include <cublas_v2.h>

#ifdef __cplusplus
extern "C" {
#endif

#include "base/status.h"

/* Return from the calling function if the call fails. */
#define AMPED_CUBLAS(call) AMPED_TRY(amped_cublas_check((call), #call))
amped_status amped_cublas_check(cublasStatus_t code, const char *call);

/* Load cuBLAS. Returns the reason if this failed, else NULL. */
const char *amped_cublas_problem(void);

#ifdef __cplusplus
}
#endif

#endif
