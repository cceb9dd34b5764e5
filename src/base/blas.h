/* BLAS: threads and memory of its library, in addition to the memory that we allocate.
 *
 * OpenBLAS starts threads when the program is loaded, and maps 128 MiB for every thread that
 * computes; newer versions map the first 128 MiB at loading. If a limit (ulimit -v, -d) refuses
 * this memory, OpenBLAS does not fail. It tries again for ever, before main, at the first call or
 * at exit.
 *
 * Therefore blas.c checks before OpenBLAS is loaded. Under such a limit the program starts once
 * more with OpenBLAS set to one thread. It ends with one line if the limit leaves too little memory
 * for this thread. The memory is checked again before the first call. */
#ifndef AMPED_BLAS_H
#define AMPED_BLAS_H

#include "base/status.h"
#include "base/types.h"

/* Limit BLAS to one thread from now on: each of our threads calls BLAS for its own rows, and
 * matrices of R x R are too small for more. */
void amped_blas_one_thread(void);

/* Warn if OpenBLAS computes with kernels of an old processor, as it does on a processor newer than
 * OpenBLAS. */
void amped_blas_warn_of_kernels(void);

/* Most bytes of address space that this number of threads and their BLAS calls take. */
uint64_t amped_blas_bytes(int threads);

/* AMPED_FAILED if the limits of the process leave too little memory for the calls of one thread. */
amped_status amped_blas_check_room(void);

#endif
