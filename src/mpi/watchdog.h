/* Watchdog: ends a run that hangs, and names the ranks that kept the others waiting.
 *
 * A thread on every rank looks at the heartbeats of the ranks of its node, in memory that they
 * share. The run hangs where no rank of the node made a step for the given seconds and the rank's
 * main thread waits in MPI. Then one line names the phase and the ranks of the node that did not
 * arrive there, and the job ends (MPI_Abort). Where all ranks of a node arrived, the watchdogs of
 * other nodes report first.
 *
 * Seconds during which the process itself was stopped do not count. The thread calls no MPI
 * function but MPI_Abort, at the end of a lost run, so any thread level of MPI suffices. */
#ifndef AMPED_WATCHDOG_H
#define AMPED_WATCHDOG_H

#include "mpi/comm.h"

typedef struct amped_watchdog amped_watchdog;

/* Collective; all ranks get the same status. From here on the calling thread updates its heartbeat.
 * Free with amped_watchdog_stop. */
amped_status amped_watchdog_start(const amped_comm *comm, double seconds, amped_watchdog **out);

/* Collective. NULL is allowed, on all ranks. */
void amped_watchdog_stop(amped_watchdog *watchdog);

#endif
