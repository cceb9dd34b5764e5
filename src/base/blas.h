/* BLAS: what its library takes beside what we allocate.
 *
 * OpenBLAS starts threads as the program is loaded, and maps 128 MiB for every thread that
 * computes. Where a limit (ulimit -v) refuses that it does not fail but tries again for ever, at
 * the first call or at exit. So under such a limit it gets no threads of its own, and room for its
 * buffers is looked for before the first call. */
#ifndef AMPED_BLAS_H
#define AMPED_BLAS_H

#include "base/status.h"
#include "base/types.h"

/* First thing in main: under a limit of address space the program starts once more, with OpenBLAS
 * told to be one thread. Returns where that is not needed. */
void amped_blas_before_all(char **argv);

/* Each of our threads calls BLAS for rows of its own. */
void amped_blas_one_thread(void);

/* Address space that so many threads and their calls take at most. */
uint64_t amped_blas_bytes(int threads);

/* AMPED_FAILED where the process's limits have no room for one thread's calls. */
amped_status amped_blas_check_room(void);

#endif
