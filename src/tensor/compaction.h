/* Compaction: renumbers the indices that have nonzeros, without gaps and in their order.
 *
 * First add all nonzeros, in any pieces; then apply it to them, and take the labels of the
 * remaining indices. The order of nonzeros does not change. Host memory: 8 bytes per remaining
 * index. Uses all OpenMP threads; not collective. */
#ifndef AMPED_COMPACTION_H
#define AMPED_COMPACTION_H

#include "tensor/sptensor.h"

/* Start from {0}. */
typedef struct amped_compaction {
  uint64_t count[AMPED_MAX_ORDER]; /* indices with nonzeros: the new dimension */
  uint64_t *used[AMPED_MAX_ORDER]; /* these indices, ascending */
} amped_compaction;

/* Add the indices of t's nonzeros. */
amped_status amped_compaction_add(amped_compaction *c, const amped_sptensor *t);

/* Give t's nonzeros, which must have been added, their new indices. */
void amped_compaction_apply(const amped_compaction *c, amped_sptensor *t);

/* Set t's dimensions, and drop the labels of dropped indices. A mode without labels that loses
 * indices gets the old indices as labels, counted as in the input. */
amped_status amped_compaction_labels(const amped_compaction *c, amped_sptensor *t);

void amped_compaction_free(amped_compaction *c);

#endif
