/* Watchdog: ends a run that hangs, and names the ranks that kept the others waiting.
 *
 * A thread on every rank looks at the heartbeats of all ranks of its node, in shared memory. The
 * run hangs if no rank of the node made a step for the given seconds and the rank's main thread
 * waits in MPI. Then one line names the phase and the ranks of the node that did not arrive there,
 * and the job ends (MPI_Abort). If all ranks of a node arrived, the watchdogs of other nodes report
 * first.
 *
 * While MPI starts and ends there is no shared memory, and the thread watches only its own process.
 * If that takes longer than the given seconds, one line says so and the process ends. The launcher
 * ends the others.
 *
 * Seconds during which the process itself was stopped do not count. The thread calls only one MPI
 * function, MPI_Abort, at the end of a lost run. So any thread level of MPI suffices.
 *
 * Life cycle: start, MPI's start, watch, the run, leave, MPI's end, stop. */
#ifndef AMPED_WATCHDOG_H
#define AMPED_WATCHDOG_H

#include "mpi/comm.h"

typedef struct amped_watchdog amped_watchdog;

/* Not collective. Starts the thread. MPI must start within `seconds`. */
amped_status amped_watchdog_start(double seconds, amped_watchdog **out);

/* Collective; all ranks get the same status. From here on the calling thread updates its heartbeat.
 * comm must exist until leave. */
amped_status amped_watchdog_watch(amped_watchdog *watchdog, const amped_comm *comm);

/* Collective: waits for all ranks. MPI must end within the seconds of start. NULL, or a watchdog
 * that does not watch, is allowed if all ranks pass it. */
void amped_watchdog_leave(amped_watchdog *watchdog);

/* Not collective. Ends the thread, and frees. NULL is allowed. */
void amped_watchdog_stop(amped_watchdog *watchdog);

#endif
