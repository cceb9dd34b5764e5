/* Rail rates: how fast each rail (comm.h) sends from node to node while all rails send. */
#ifndef AMPED_RAIL_RATE_H
#define AMPED_RAIL_RATE_H

#include "mpi/comm.h"

typedef struct amped_rail_rates {
  int rails;            /* 0 on one node: nothing was measured */
  int slowest, fastest; /* numbers of rails: local ranks of their ranks */
  double least, most;   /* bytes per second of a rank of these rails */
} amped_rail_rates;

/* Collective. Every rank of a rail sends `bytes` bytes to the next node and receives as many,
 * twice; the faster time counts, of the rail's slowest rank. host: 2 * bytes of host memory, of
 * which the second half is changed. The same on every rank. */
void amped_rail_rates_measure(const amped_comm *comm, char *host, uint64_t bytes,
                              amped_rail_rates *rates);

/* Is a rail slower than half of the fastest? */
bool amped_rail_rates_differ(const amped_rail_rates *rates);

#endif
