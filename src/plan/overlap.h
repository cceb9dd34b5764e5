/* Overlap: the parts that blocks of rows are cut into, so that rows of one part travel while those
 * of the next are computed. Pure functions of the plan, the same on every rank. */
#ifndef AMPED_OVERLAP_H
#define AMPED_OVERLAP_H

#include "plan/plan.h"

/* Cut blocks into so many parts, ever smaller ones, as create leaves them in one; right after it.
 * Each has AMPED_PART_RATIO of the nonzeros of the one before, about: it is computed while that
 * travels, which takes less time, and the last one, which nothing hides, is small.
 * AMPED_PARTS_AUTO: where rows travel for a share of MTTKRP's time that is worth hiding, so many
 * that what is not hidden does not matter. Blocks of few iDps get fewer, and those of modes with
 * split iDps, whose sums come last, stay whole. */
#define AMPED_PARTS_AUTO 0
#define AMPED_PART_RATIO 0.6
amped_status amped_plan_cut(amped_plan *plan, int parts);

#endif
