/* Completion by blocks of columns: with one column CCD++, with all of them ALS.
 *
 * A sweep goes from block to block, and within a block from mode to mode. It makes new columns of
 * every row with the tensor format's block fits (block_fit.h), and exchanges these alone. Each step
 * lowers the objective (complete_method.h), so it never rises, but for rounding, as long as the
 * penalty stays the same. A sweep depends on the factors alone that it begins with. */
#ifndef AMPED_COMPLETE_BLOCK_H
#define AMPED_COMPLETE_BLOCK_H

#include "solver/complete_method.h"

/* options->block columns at a time; for factors of no more, the method is ALS. */
extern const amped_complete_method amped_complete_block;

#endif
