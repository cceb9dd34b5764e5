/* Best: the few items with the largest keys among many, without sorting all.
 *
 * A heap of items in the caller's array, the worst of them on top; then sorted. Among equal keys
 * the lower index is better. Keys must not be NaN. */
#ifndef AMPED_BEST_H
#define AMPED_BEST_H

#include <stdbool.h>
#include <stdint.h>

typedef struct amped_best_item {
  uint64_t index;
  double key;
  double value; /* for the caller's use */
} amped_best_item;

bool amped_best_leads(const amped_best_item *a, const amped_best_item *b);

/* Keep x if it is among the best `capacity` (at least 1) so far. *count = items in the heap, 0 at
 * first. */
void amped_best_offer(amped_best_item *heap, uint64_t capacity, uint64_t *count, amped_best_item x);

/* Would an item of this key and index be kept? */
static inline bool amped_best_takes(const amped_best_item *heap, uint64_t capacity, uint64_t count,
                                    double key, uint64_t index) {
  return count < capacity || key > heap[0].key || (key == heap[0].key && index < heap[0].index);
}

/* Sort the items, best first. */
void amped_best_sort(amped_best_item *items, uint64_t count);

#endif
