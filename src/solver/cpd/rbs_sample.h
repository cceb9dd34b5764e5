/* Sample: the indices of a dense tensor that randomised block sampling visits, drawn anew in every
 * epoch. Pure functions of the shape, the seed and the epoch: the same on every rank.
 *
 * Blocks: the indices of every mode are shuffled and cut into `count` sets of about equal size.
 * Block b has set b of each mode, so blocks share no index, and each index is in one block. Rank p
 * has blocks count p / nranks .. count (p + 1) / nranks - 1. If ranks own indices of a mode, a
 * rank's blocks have only its own indices of this mode.
 *
 * Slices: a group has some indices of one mode, and all indices of the others. The mode's indices
 * are shuffled and cut into `count` groups, and each group is cut over the ranks. If ranks own
 * indices, each rank's own indices are shuffled and cut. Each slice is in one group of an epoch.
 *
 * Sets are ascending. They may be empty. */
#ifndef AMPED_RBS_SAMPLE_H
#define AMPED_RBS_SAMPLE_H

#include "backend/dense_block.h"

typedef struct amped_rbs_shape {
  int order;
  uint64_t dims[AMPED_MAX_ORDER];
  int nranks;
  bool slices;
  int mode;                  /* mode of slices, and of own indices */
  const uint64_t *rank_rows; /* [nranks] own indices of the mode per rank, in order of ranks; NULL:
                                every rank has all indices */
  uint64_t count;            /* number of blocks or groups; blocks: at least nranks */
} amped_rbs_shape;

typedef struct amped_rbs_sample {
  amped_rbs_shape shape;
  uint64_t sets[AMPED_MAX_ORDER];     /* number of sets. Slices: groups x ranks, group by group;
                                         else blocks */
  uint64_t *indices[AMPED_MAX_ORDER]; /* [dims[m]] set after set; all indices if the mode has no
                                         sets */
  uint64_t *first[AMPED_MAX_ORDER];   /* [sets[m] + 1] first place of each set in indices */
  uint64_t *room;                     /* workspace, [dims of the longest mode] */
} amped_rbs_sample;

/* Bytes of host memory that create takes. */
uint64_t amped_rbs_sample_bytes(const amped_rbs_shape *shape);
/* The shape's rank_rows are borrowed. free accepts a zeroed struct. */
amped_status amped_rbs_sample_create(const amped_rbs_shape *shape, amped_rbs_sample *out);
void amped_rbs_sample_free(amped_rbs_sample *sample);

void amped_rbs_sample_draw(amped_rbs_sample *sample, uint64_t seed, uint64_t epoch);

/* Call instead of draw, only if any rank can take any slice: groups become consecutive slices of
 * the file. */
void amped_rbs_sample_in_order(amped_rbs_sample *sample);

/* Number of steps of an epoch, which follow each other: one per group; one for all blocks. */
uint64_t amped_rbs_sample_steps(const amped_rbs_shape *shape);

/* *out = the blocks of a rank in a step, and their indices; borrowed until the next draw. */
void amped_rbs_sample_sets(const amped_rbs_sample *sample, uint64_t step, int rank,
                           amped_block_sets *out);

/* Largest shape of any rank's blocks in a step. Slices that any rank can take are `given`. */
amped_block_shape amped_rbs_sample_most(const amped_rbs_shape *shape);

#endif
