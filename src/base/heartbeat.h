/* Heartbeat: signs of life of a rank's main thread, for the watchdogs of its node.
 *
 * The signs are counters in memory that other processes of the node can read. They are updated from
 * amped_heartbeat_show on. Before that call, and on other threads, each function is one test. MPI
 * calls (comm.h) and phases (trace.h) update them. */
#ifndef AMPED_HEARTBEAT_H
#define AMPED_HEARTBEAT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define AMPED_HEARTBEAT_NO_PHASE (-1)

/* Lies in shared memory: lock-free types only. */
typedef struct amped_heartbeat {
  _Atomic uint64_t steps; /* MPI calls, phases begun and ended, slabs written: constant in an idle
                             or a very long phase */
  _Atomic uint64_t beats; /* of the watchdog thread: constant while the process is stopped */
  _Atomic int waits;      /* inside a call of MPI */
  _Atomic int phase;      /* an amped_phase; AMPED_HEARTBEAT_NO_PHASE: none */
  _Atomic int number;     /* its mode or sweep; AMPED_NO_NUMBER: none */
} amped_heartbeat;

/* Write the calling thread's signs there from now on; NULL ends that. The memory is the
 * caller's. */
void amped_heartbeat_show(amped_heartbeat *heartbeat);
/* The same for another thread of the rank. It counts its steps alone, beside the main thread's
 * signs. */
void amped_heartbeat_join(amped_heartbeat *heartbeat);

/* The heartbeat that the calling thread updates; NULL where there is none. */
amped_heartbeat *amped_heartbeat_shown(void);

/* Count one more step of a long phase. */
void amped_heartbeat_step(void);
void amped_heartbeat_wait(bool waits);
void amped_heartbeat_begin(int phase, int number);
void amped_heartbeat_end(void);

#endif
