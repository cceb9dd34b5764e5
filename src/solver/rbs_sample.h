/* Sample: the indices of a dense tensor that randomised block sampling visits, drawn anew for every
 * epoch. Pure functions of the shape, the seed and the epoch: the same on every rank.
 *
 * Blocks: the indices of every mode are shuffled and cut into `count` sets of about the same size.
 * Block b has set b of each mode, so blocks share no index, and each index is in one. Rank p has
 * blocks count p / nranks .. count (p + 1) / nranks - 1. Where ranks have own indices of a mode, a
 * rank's blocks have these alone.
 *
 * Slices: groups of slices, that is, of indices of one mode, with all indices of the others. The
 * mode's indices are shuffled and cut into `count` groups, and each group over the ranks; where
 * ranks have own indices, each rank's are shuffled and cut. Each slice is in one group of an epoch.
 *
 * Sets ascend. They may be empty. */
#ifndef AMPED_RBS_SAMPLE_H
#define AMPED_RBS_SAMPLE_H

#include "backend/dense_block.h"

typedef struct amped_rbs_shape {
  int order;
  uint64_t dims[AMPED_MAX_ORDER];
  int nranks;
  bool slices;
  int mode;                  /* of slices, and of own indices */
  const uint64_t *rank_rows; /* [nranks] of it each rank has so many, in order of ranks; NULL: each
                                has all */
  uint64_t count;            /* blocks, or groups; blocks: at least nranks */
} amped_rbs_shape;

typedef struct amped_rbs_sample {
  amped_rbs_shape shape;
  uint64_t sets[AMPED_MAX_ORDER];     /* of slices groups x ranks, group by group; else blocks */
  uint64_t *indices[AMPED_MAX_ORDER]; /* [dims[m]] set after set; of modes that have no sets all */
  uint64_t *first[AMPED_MAX_ORDER];   /* [sets[m] + 1] */
  uint64_t *room;                     /* [dims of the longest mode] */
} amped_rbs_sample;

/* Bytes that create takes. */
uint64_t amped_rbs_sample_bytes(const amped_rbs_shape *shape);
/* free takes zeros, too. The shape's rank_rows are borrowed. */
amped_status amped_rbs_sample_create(const amped_rbs_shape *shape, amped_rbs_sample *out);
void amped_rbs_sample_free(amped_rbs_sample *sample);

void amped_rbs_sample_draw(amped_rbs_sample *sample, uint64_t seed, uint64_t epoch);

/* In place of a draw, of slices that any rank can take: groups follow each other in the file. */
void amped_rbs_sample_in_order(amped_rbs_sample *sample);

/* Parts of an epoch that follow each other: groups; blocks go all at once. */
uint64_t amped_rbs_sample_steps(const amped_rbs_shape *shape);

/* The blocks of a rank in a step, and their indices; borrowed until the next draw. */
void amped_rbs_sample_sets(const amped_rbs_sample *sample, uint64_t step, int rank,
                           amped_block_sets *out);

/* Room that any rank's blocks of a step take. Slices that any rank can take are brought. */
amped_block_shape amped_rbs_sample_most(const amped_rbs_shape *shape);

#endif
