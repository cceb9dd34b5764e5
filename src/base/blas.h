/* BLAS: threads and memory that its library takes beside the memory that we allocate.
 *
 * OpenBLAS starts threads as the program is loaded, and maps 128 MiB for every thread that
 * computes; newer ones map the first as they are loaded. Where a limit (ulimit -v, -d) refuses that
 * memory, OpenBLAS does not fail. It tries again for ever, before main, at the first call or at
 * exit. So blas.c looks before OpenBLAS is loaded: under such a limit the program starts once more
 * with OpenBLAS told to be one thread, and ends with one line where the limit leaves no room for
 * that thread. Room is checked again before the first call. */
#ifndef AMPED_BLAS_H
#define AMPED_BLAS_H

#include "base/status.h"
#include "base/types.h"

/* BLAS uses one thread from now on: each of our threads calls BLAS for its own rows, and matrices
 * of R x R are too small for more. */
void amped_blas_one_thread(void);

/* Warn where BLAS computes with kernels of an old processor: OpenBLAS does so where the processor
 * is newer than OpenBLAS. */
void amped_blas_warn_of_kernels(void);

/* The most address space, in bytes, that this number of threads and their BLAS calls take. */
uint64_t amped_blas_bytes(int threads);

/* AMPED_FAILED where the limits of the process leave no room for the calls of one thread. */
amped_status amped_blas_check_room(void);

#endif
