/* Ranking: for indices of one mode of a model, the indices of another with the highest values.
 *
 * All pairs are computed, in blocks; of each index only the best are kept. Of equal values the
 * lower index is better: equal rows give values equal to the bit. The result does not depend on the
 * number of threads. Host memory; not collective. */
#ifndef AMPED_RANKING_H
#define AMPED_RANKING_H

#include "base/best.h"
#include "tensor/predictor.h"

typedef struct amped_ranking {
  const amped_predictor *p;
  int target, of;               /* two modes */
  uint64_t at[AMPED_MAX_ORDER]; /* of the other modes; AMPED_PREDICTOR_COLD: the mean row */
  uint64_t most;                /* for each target, at least 1; at most dims[of] */
  /* What is left out for target i: seen[seen_begin[i] .. seen_begin[i + 1]), which ascend.
   * seen_begin NULL: nothing is. */
  const uint64_t *seen_begin, *seen;
} amped_ranking;

/* The targets that one call should be asked for. */
uint64_t amped_ranking_block(const amped_ranking *ranking);

/* For targets first .. first + count: out[i * most ..] has counts[i] items, the best first, whose
 * keys and values are the model's values. */
amped_status amped_ranking_find(const amped_ranking *ranking, uint64_t first, uint64_t count,
                                amped_best_item *out, uint64_t *counts);

#endif
