/* Overlap: cuts blocks of rows into parts, so that rows of one part travel while rows of the next
 * part are computed. Pure functions of the plan, the same on every rank. */
#ifndef AMPED_OVERLAP_H
#define AMPED_OVERLAP_H

#include "plan/plan.h"

/* Rates of a device, about; the same on every rank, as a plan follows from them. */
typedef struct amped_rates {
  uint64_t cache_bytes; /* a factor of at most this size is gathered from the device's cache */
  double cache_rate;    /* bytes a second of rows that are gathered from there */
  double memory_rate;   /* bytes a second of rows of a larger factor */
  double link_rate;     /* bytes a second between two ranks' devices */
  double link_sec;      /* latency of sending a block */
} amped_rates;

/* Cut blocks into this number of parts; call it right after amped_plan_create, which leaves blocks
 * whole. Each part has about AMPED_PART_RATIO of the nonzeros of the part before it. Computing a
 * part takes longer than sending the part before it, and the last part, which is sent last, is
 * small.
 *
 * AMPED_PARTS_AUTO: cut only where the time of sending is worth hiding, into so many parts that the
 * rest does not matter. Blocks of few iDps get fewer parts. The sums of split iDps come last, so
 * their rows are the last part. */
#define AMPED_PARTS_AUTO 0
#define AMPED_PART_RATIO 0.6
amped_status amped_plan_cut(amped_plan *plan, int parts, const amped_rates *rates);

#endif
