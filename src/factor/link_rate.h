/* Link rate: how fast factor rows are exchanged, and how fast the links between ranks are. */
#ifndef AMPED_LINK_RATE_H
#define AMPED_LINK_RATE_H

#include "factor/factors.h"
#include "mpi/rail_rate.h"

typedef struct amped_link_rate {
  uint64_t bytes;         /* bytes exchanged at a time, sum over all ranks; 0 on one rank */
  double exchange;        /* bytes per second that a rank receives in the exchange */
  double link;            /* bytes per second of the link, to compare with exchange; 0: unknown */
  amped_rail_rates rails; /* between nodes */
} amped_link_rate;

/* Collective; the status is agreed. Exchanges up to 16 MiB of the largest factor up to four times
 * (on slow links twice), which takes some milliseconds. Own rows stay unchanged; rows of other
 * ranks receive these ranks' values.
 *
 * Between nodes, `link` is the rate of the fastest rail while all rails send from host memory. On
 * one node with GPUs, `link` is the rate of copies to the host. Each is the rate of its slowest
 * rank. On one node of CPU ranks it is unknown: processes that share cores would measure the
 * scheduler. */
amped_status amped_link_rate_measure(const amped_context *context, amped_link_rate *out);

/* Collective; the status is agreed. *rate: bytes per second from pinned host memory to this rank's
 * device, while all ranks copy. 0 if the backend computes in host memory, or has too little free
 * memory. */
amped_status amped_link_rate_device(const amped_context *context, double *rate);

/* Is the exchange slower than a tenth of the link's rate? Returns false if messages are too short
 * to judge. */
bool amped_link_is_slow(const amped_link_rate *rate);

#endif
