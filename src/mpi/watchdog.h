/* Watchdog: ends a run that hangs, and says who kept the others waiting.
 *
 * A thread on every rank looks at the heartbeats of its node's ranks, in memory that these share.
 * Where none of them did a step for so many seconds and the rank's main thread waits in MPI, one
 * line names the phase and the ranks of the node that did not arrive there, and the job ends
 * (MPI_Abort). Where all of a node arrived, its ranks leave the word to other nodes first.
 *
 * Seconds during which the process itself stood still do not count. The thread calls nothing of MPI
 * but MPI_Abort, and that only when the run is lost: any thread level serves. */
#ifndef AMPED_WATCHDOG_H
#define AMPED_WATCHDOG_H

#include "mpi/comm.h"

typedef struct amped_watchdog amped_watchdog;

/* Collective; the status is agreed. From here on the calling thread shows its heartbeat. */
amped_status amped_watchdog_start(const amped_comm *comm, double seconds, amped_watchdog **out);

/* Collective. NULL is allowed, on all ranks. */
void amped_watchdog_stop(amped_watchdog *watchdog);

#endif
