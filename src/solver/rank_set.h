/* Rank set: held out entries, each of which a model ranks among all indices of one mode, the
 * entry's other indices fixed: for fits of implicit observations, whose values are no targets.
 *
 * The rank of an entry is the number of indices whose model is higher; of equal models the lower
 * index is higher. Indices that were learnt together with the same other indices do not count;
 * other held out entries do. Of many entries a sample is ranked, by a hash: AMPED_RANKED at the
 * average, the same on any number of ranks. Every rank has the sample, and compares it with its own
 * rows of the mode: a product of blocks, without a sort. */
#ifndef AMPED_RANK_SET_H
#define AMPED_RANK_SET_H

#include "solver/entry_set.h"

#define AMPED_RANKED 4096
#define AMPED_RANK_TOP 10 /* ranks 0 .. 9 are hits */

typedef struct amped_rank_set amped_rank_set;

typedef struct amped_rank_sums {
  uint64_t count;              /* entries that were ranked */
  uint64_t at[AMPED_RANK_TOP]; /* entries of this rank */
} amped_rank_sums;

/* The most bytes of host memory that a set takes on this rank, but for pairs that were learnt. */
uint64_t amped_rank_set_bytes(const amped_plan *plan);

/* Collective; the status is agreed. Of the tensor's nonzeros that are held out, `total` on all
 * ranks; or of entries, which are borrowed for the call. destroy takes NULL, too. */
amped_status amped_rank_set_create(const amped_context *context, int mode, uint64_t total,
                                   const amped_entry_set *entries, amped_rank_set **out);
void amped_rank_set_destroy(amped_rank_set *set);

uint64_t amped_rank_set_count(const amped_rank_set *set);

/* Collective; the status is agreed. Ranks by the context's factors, the same on every rank. A row
 * that the model lacks is the prior. */
amped_status amped_rank_set_find(const amped_context *context, const amped_rank_set *set,
                                 const amped_row_fit *fit, amped_rank_sums *out);

/* Share of the entries that are hits; the mean of 1 / log2(rank + 2) of hits, and 0 of others:
 * normalised discounted cumulative gain at 10, where one index is right. NaN without entries. */
double amped_rank_hit_rate(const amped_rank_sums *sums);
double amped_rank_ndcg(const amped_rank_sums *sums);

#endif
