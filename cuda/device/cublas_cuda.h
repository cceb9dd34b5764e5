/* cuBLAS, loaded at its first call.
 *
 * The libraries have 600 MB, and their relocation takes a process 70 ms. Most commands, and every
 * run on CPUs, never call them. The functions have the names and contracts of cublas_v2.h. If the
 * library is missing they return CUBLAS_STATUS_NOT_INITIALIZED. A cuBLAS function that this program
 * does not use yet needs a few lines in cublas_cuda.cu. */
#ifndef AMPED_CUBLAS_CUDA_H
#define AMPED_CUBLAS_CUDA_H

#ifdef __cplusplus
extern "C" {
#endif

/* Load cuBLAS. Returns the reason if this failed, else NULL. */
const char *amped_cublas_problem(void);

#ifdef __cplusplus
}
#endif

#endif
