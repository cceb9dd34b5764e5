/* Rank set: held-out entries that a model ranks. Each entry is ranked among all indices of one
 * mode; its other indices are fixed. This is for implicit observations, whose values are no
 * targets.
 *
 * The rank of an entry is the number of other indices with the same model value or a higher one, so
 * that a model without differences ranks nothing well. Indices that were trained with the same
 * other indices do not count; other held-out entries count. If there are many entries, a sample is
 * chosen by a hash: AMPED_RANKED on average, the same on any number of ranks. Every rank has the
 * sample, and compares it with its own rows of the mode, as a product of blocks without a sort. An
 * entry that is no hit anyway is not compared with more blocks. */
#ifndef AMPED_RANK_SET_H
#define AMPED_RANK_SET_H

#include "solver/complete/entry_set.h"

#define AMPED_RANKED 4096
#define AMPED_RANK_TOP 10 /* ranks 0 .. 9 are hits */

typedef struct amped_rank_set amped_rank_set;

typedef struct amped_rank_sums {
  uint64_t count;              /* entries that were ranked */
  uint64_t at[AMPED_RANK_TOP]; /* at[r] = number of entries with rank r */
} amped_rank_sums;

/* Maximum number of bytes of host memory that a set takes on this rank, without pairs that were
 * trained. */
uint64_t amped_rank_set_bytes(const amped_plan *plan);

/* Collective; the status is agreed. entries = NULL: rank the tensor's held-out nonzeros, `total` on
 * all ranks. Otherwise rank these entries, whose `trained` is set, and which are borrowed during
 * the call. destroy accepts NULL. */
amped_status amped_rank_set_create(const amped_context *context, int mode, uint64_t total,
                                   const amped_entry_set *entries, amped_rank_set **out);
void amped_rank_set_destroy(amped_rank_set *set);

uint64_t amped_rank_set_count(const amped_rank_set *set);

/* Collective; the status is agreed. *out = ranks by the context's factors, the same on every rank.
 * A row that is missing in the model is the prior. *cold = ranks of cold entries (entry_set.h)
 * alone; held-out nonzeros do not say which are cold. */
amped_status amped_rank_set_find(const amped_context *context, const amped_rank_set *set,
                                 const amped_row_fit *fit, amped_rank_sums *out,
                                 amped_rank_sums *cold);

/* hit_rate: share of entries that are hits. ndcg: mean of 1 / log2(rank + 2), with 0 for entries
 * that are no hits: normalised discounted cumulative gain at 10, if one index is right. NaN without
 * entries. */
double amped_rank_hit_rate(const amped_rank_sums *sums);
double amped_rank_ndcg(const amped_rank_sums *sums);

#endif
