/* Watchdog: ends a run that hangs, and names the ranks that kept the others waiting.
 *
 * A thread on every rank looks at the heartbeats of the ranks of its node, in memory that they
 * share. The run hangs where no rank of the node made a step for the given seconds and the rank's
 * main thread waits in MPI. Then one line names the phase and the ranks of the node that did not
 * arrive there, and the job ends (MPI_Abort). Where all ranks of a node arrived, the watchdogs of
 * other nodes report first.
 *
 * While MPI starts and ends there is no shared memory. Then the thread watches the process alone:
 * where that takes longer than the given seconds, one line says so and the process ends. The
 * launcher ends the others.
 *
 * Seconds during which the process itself was stopped do not count. The thread calls no MPI
 * function but MPI_Abort, at the end of a lost run, so any thread level of MPI suffices.
 *
 * Life: start, MPI's start, watch, the run, leave, MPI's end, stop. */
#ifndef AMPED_WATCHDOG_H
#define AMPED_WATCHDOG_H

#include "mpi/comm.h"

typedef struct amped_watchdog amped_watchdog;

/* Not collective. Starts the thread. MPI is to start within `seconds`. */
amped_status amped_watchdog_start(double seconds, amped_watchdog **out);

/* Collective; all ranks get the same status. From here on the calling thread updates its
 * heartbeat. comm outlives leave. */
amped_status amped_watchdog_watch(amped_watchdog *watchdog, const amped_comm *comm);

/* Collective: waits for all ranks. MPI is to end within the seconds of start. NULL, and a watchdog
 * that does not watch, are allowed, on all ranks. */
void amped_watchdog_leave(amped_watchdog *watchdog);

/* Not collective. NULL is allowed. */
void amped_watchdog_stop(amped_watchdog *watchdog);

#endif
