/* cuBLAS, loaded where it is first called.
 *
 * Its libraries have 600 MB, whose relocation takes a process 70 ms. Most commands, and every run
 * on CPUs, never call it. Its functions have the names and contracts of cublas_v2.h; where the
 * library is missing they return CUBLAS_STATUS_NOT_INITIALIZED. A function of cuBLAS that is new to
 * this program needs a few lines in cublas_cuda.cu. */
#ifndef AMPED_CUBLAS_CUDA_H
#define AMPED_CUBLAS_CUDA_H

#ifdef __cplusplus
extern "C" {
#endif

/* Why cuBLAS could not be loaded; NULL where it could. Loads it. */
const char *amped_cublas_problem(void);

#ifdef __cplusplus
}
#endif

#endif
