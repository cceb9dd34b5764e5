/* Heartbeat: signs of life of a rank's main thread, for the watchdogs of its node.
 *
 * The signs are counters in memory that other processes of the node can read. They are updated
 * after amped_heartbeat_show. Before that call, and on other threads, each function costs one test.
 * MPI calls (comm.h) and phases (trace.h) update them. */
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
  _Atomic uint64_t beats; /* ticks of the watchdog thread: constant while the process is stopped */
  _Atomic int waits;      /* inside an MPI call */
  _Atomic int phase;      /* an amped_phase; AMPED_HEARTBEAT_NO_PHASE: none */
  _Atomic int number;     /* its mode or sweep; AMPED_NO_NUMBER: none */
} amped_heartbeat;

/* Update this heartbeat from the calling thread; NULL ends the updates. The memory is the
 * caller's. */
void amped_heartbeat_show(amped_heartbeat *heartbeat);
/* Update this heartbeat from another thread of the rank. It only counts steps, in addition to the
 * main thread's signs. */
void amped_heartbeat_join(amped_heartbeat *heartbeat);

/* The heartbeat that the calling thread updates; NULL if there is none. */
amped_heartbeat *amped_heartbeat_shown(void);

/* Count one more step of a long phase. */
void amped_heartbeat_step(void);
void amped_heartbeat_wait(bool waits);
void amped_heartbeat_begin(int phase, int number);
void amped_heartbeat_end(void);

#endif
