/* BLAS: threads and memory that its library takes beside the memory that we allocate.
 *
 * OpenBLAS starts threads as the program is loaded, and maps 128 MiB for every thread that
 * computes. Where a limit (ulimit -v) refuses that memory, OpenBLAS does not fail. It tries again
 * for ever, at the first call or at exit. So under such a limit OpenBLAS gets no threads of its
 * own, and room for its buffers is checked before the first call. */
#ifndef AMPED_BLAS_H
#define AMPED_BLAS_H

#include "base/status.h"
#include "base/types.h"

/* The first call in main. Under a limit of address space or data the program starts once more, with
 * OpenBLAS told to use one thread. Returns where no restart is needed. */
void amped_blas_before_all(char **argv);

/* BLAS uses one thread from now on: each of our threads calls BLAS for its own rows. */
void amped_blas_one_thread(void);

/* The most address space, in bytes, that this number of threads and their BLAS calls take. */
uint64_t amped_blas_bytes(int threads);

/* AMPED_FAILED where the limits of the process leave no room for the calls of one thread. */
amped_status amped_blas_check_room(void);

#endif
