/* Link test: how fast factor rows are exchanged, and how fast the links between ranks could be. */
#ifndef AMPED_LINK_RATE_H
#define AMPED_LINK_RATE_H

#include "factor/factors.h"

typedef struct amped_link_rate {
  uint64_t bytes;  /* of rows exchanged at a time, all ranks together; 0 on one rank */
  double exchange; /* bytes a second that a rank receives in the exchange */
  double link;     /* bytes a second to hold that against, 0: not known */
} amped_link_rate;

/* Collective; the status is agreed. Exchanges up to 16 MB of the largest factor a few times: some
 * milliseconds, on slow links once. Factors are as before, but for the other ranks' rows in this
 * one's memory, which become theirs.
 *
 * The link: between nodes what two neighbours reach when they send each other as much from host
 * memory; on a node of GPUs what copies to the host reach. Both are the slowest rank's. Among CPU
 * ranks of one node it is not known: processes that share cores measure the scheduler. */
amped_status amped_link_rate_measure(const amped_context *context, amped_link_rate *out);

/* Less than a tenth of the link, of messages that are long enough to tell. */
bool amped_link_is_slow(const amped_link_rate *rate);

#endif
