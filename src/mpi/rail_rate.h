/* Rail rates: how fast each rail (comm.h) sends from node to node while all rails send. */
#ifndef AMPED_RAIL_RATE_H
#define AMPED_RAIL_RATE_H

#include "mpi/comm.h"

/* Bytes of a message: on any link it takes longer than the latency. */
#define AMPED_RAIL_BYTES (UINT64_C(1) << 20)

/* Rails whose rates are kept singly. */
#define AMPED_TOLD_RAILS 16

typedef struct amped_rail_rates {
  int rails;                     /* 0 on one node: nothing was measured */
  int slowest, fastest;          /* numbers of rails: local ranks of their ranks */
  double least, most;            /* bytes per second of a rank of these rails */
  double rate[AMPED_TOLD_RAILS]; /* bytes per second of the first rails */
} amped_rail_rates;

/* Collective. Every rank of a rail sends AMPED_RAIL_BYTES to the next node, and receives as many
 * from the node before, up to four times (on slow links twice). The shortest time of the rail's
 * slowest rank counts, without the first. host: 2 * AMPED_RAIL_BYTES of host memory, of which the
 * second half is changed. The same on every rank. */
void amped_rail_rates_measure(const amped_comm *comm, char *host, amped_rail_rates *rates);

/* Is a rail slower than a quarter of the fastest? */
bool amped_rail_rates_differ(const amped_rail_rates *rates);

#endif
