/* Heartbeat: the signs of life that a rank's main thread gives, for the watchdogs of its node.
 *
 * Shown from amped_heartbeat_show on, in memory that other processes may read; until then, and on
 * other threads, a call is one test. MPI's calls (comm.h) and phases (trace.h) give them. */
#ifndef AMPED_HEARTBEAT_H
#define AMPED_HEARTBEAT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define AMPED_HEARTBEAT_NO_PHASE (-1)

/* Lies in shared memory: lock-free types only. */
typedef struct amped_heartbeat {
  _Atomic uint64_t steps; /* calls of MPI, phases begun and ended, slabs of a file written: stands
                             still where nothing is done, or one thing for long */
  _Atomic uint64_t beats; /* of the watchdog: stands still where the process does */
  _Atomic int waits;      /* inside a call of MPI */
  _Atomic int phase;      /* an amped_phase, AMPED_HEARTBEAT_NO_PHASE: none */
  _Atomic int number;     /* its mode or sweep, AMPED_NO_NUMBER: none */
} amped_heartbeat;

/* Show the calling thread's signs there from now on; NULL: no more. */
void amped_heartbeat_show(amped_heartbeat *heartbeat);
/* The same for another thread of the rank, which shows its steps alone, beside the main thread's
 * signs. */
void amped_heartbeat_join(amped_heartbeat *heartbeat);

/* What the calling thread shows, NULL where nothing. */
amped_heartbeat *amped_heartbeat_shown(void);

/* One more step of a long phase. */
void amped_heartbeat_step(void);
void amped_heartbeat_wait(bool waits);
void amped_heartbeat_begin(int phase, int number);
void amped_heartbeat_end(void);

#endif
