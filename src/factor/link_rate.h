/* Link rate: how fast factor rows are exchanged, and how fast the links between ranks are. */
#ifndef AMPED_LINK_RATE_H
#define AMPED_LINK_RATE_H

#include "factor/factors.h"

typedef struct amped_link_rate {
  uint64_t bytes;  /* of rows exchanged at a time, all ranks together; 0 on one rank */
  double exchange; /* bytes a second that a rank receives in the exchange */
  double link;     /* bytes a second of the link, to compare with exchange; 0: not known */
} amped_link_rate;

/* Collective; the status is agreed. Exchanges up to 16 MB of the largest factor a few times (on
 * slow links once), which takes some milliseconds. Own rows stay as they are; rows of other ranks
 * become these ranks' values.
 *
 * Between nodes, `link` is the rate of two neighbours that send each other as many bytes from host
 * memory. On one node of GPUs, `link` is the rate of copies to the host. Both are the slowest
 * rank's. On one node of CPU ranks it is not known: processes that share cores would measure the
 * scheduler. */
amped_status amped_link_rate_measure(const amped_context *context, amped_link_rate *out);

/* Collective; the status is agreed. Bytes a second from pinned host memory to this rank's device,
 * while all ranks copy; 0 where the backend computes in host memory, or has no room. */
amped_status amped_link_rate_device(const amped_context *context, double *rate);

/* Is the exchange below a tenth of the link's rate? false where messages are too short to judge. */
bool amped_link_is_slow(const amped_link_rate *rate);

#endif
