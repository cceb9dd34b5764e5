/* Completion by blocks of columns: CCD++ with one column per block, ALS with all columns in one
 * block.
 *
 * A sweep visits block after block, and within a block mode after mode. It makes new columns of
 * every row with the tensor format's block fits (block_fit.h), and exchanges only these columns.
 * Each step lowers the objective (complete_method.h). The objective never rises while the penalty
 * stays the same, except by rounding. The result of a sweep depends only on the factors at its
 * beginning. */
#ifndef AMPED_COMPLETE_BLOCK_H
#define AMPED_COMPLETE_BLOCK_H

#include "solver/complete/complete_method.h"

/* Blocks of options->block columns. If the factors have no more components than this, the method is
 * ALS. */
extern const amped_complete_method amped_complete_block;

#endif
