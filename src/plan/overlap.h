/* Overlap: cuts blocks of rows into parts, so that rows of one part are sent while the next part is
 * computed. Pure functions of the plan, the same on every rank. */
#ifndef AMPED_OVERLAP_H
#define AMPED_OVERLAP_H

#include "plan/plan.h"

/* Approximate rates of a device; the same on every rank, because a plan follows from them. */
typedef struct amped_rates {
  uint64_t cache_bytes; /* a factor of at most this size is gathered from the device's cache */
  double cache_rate;    /* bytes per second of rows gathered from the cache */
  double memory_rate;   /* bytes per second of rows of a larger factor */
  double link_rate;     /* bytes per second between two ranks' devices */
  double link_sec;      /* latency of sending a block, in seconds */
} amped_rates;

/* Cut blocks into this number of parts, right after amped_plan_create, which leaves blocks whole.
 * Each part has about AMPED_PART_RATIO of the previous part's nonzeros. So computing a part takes
 * longer than sending the previous part, and the last part, which is sent last, is small.
 *
 * AMPED_PARTS_AUTO: cut only if the time of sending is worth hiding, into enough parts to make the
 * rest negligible. Blocks of few iDps get fewer parts. The sums of split iDps come last, so their
 * rows are the last part. */
#define AMPED_PARTS_AUTO 0
#define AMPED_PART_RATIO 0.6
amped_status amped_plan_cut(amped_plan *plan, int parts, const amped_rates *rates);

#endif
