/* Ranking: for indices of one mode of a model, the indices of another mode with the highest values.
 *
 * All pairs are computed, in blocks; only the best are kept for each index. Indices of which the
 * model learnt no entry are left out. If values are equal, the lower index is better; equal rows
 * give values equal to the bit. The result does not depend on the number of threads. Host memory;
 * not collective. */
#ifndef AMPED_RANKING_H
#define AMPED_RANKING_H

#include "base/best.h"
#include "tensor/predictor.h"

typedef struct amped_ranking {
  const char *path; /* name of the model, for messages */
  const amped_predictor *p;
  int target, of;               /* mode of the given indices, and mode of the ranked ones */
  uint64_t at[AMPED_MAX_ORDER]; /* indices in the other modes; AMPED_PREDICTOR_COLD: the mean row */
  uint64_t most;                /* items per target, 1 to dims[of] */
  /* Excluded indices for target i: seen[seen_begin[i] .. seen_begin[i + 1]), ascending. seen_begin
   * NULL: none. */
  const uint64_t *seen_begin, *seen;
} amped_ranking;

/* Best number of targets for one call. */
uint64_t amped_ranking_block(const amped_ranking *ranking);

/* For targets first .. first + count: out[i * most ..] gets counts[i] items, the best first. Their
 * keys and values are the model's values. AMPED_FAILED if a value is not finite. */
amped_status amped_ranking_find(const amped_ranking *ranking, uint64_t first, uint64_t count,
                                amped_best_item *out, uint64_t *counts);

#endif
