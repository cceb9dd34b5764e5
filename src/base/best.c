/* Best: a binary heap with the worst kept item on top. */
#include "base/best.h"

#include <stdlib.h>

bool amped_best_leads(const amped_best_item *a, const amped_best_item *b) {
  return a->key > b->key || (a->key == b->key && a->index < b->index);
}

static void exchange(amped_best_item *a, amped_best_item *b) {
  const amped_best_item kept = *a;
  *a = *b;
  *b = kept;
}

static void sift_down(amped_best_item *heap, uint64_t n) {
  uint64_t i = 0;
  for (;;) {
    uint64_t child = 2 * i + 1;
    if (child >= n)
      return;
    if (child + 1 < n && amped_best_leads(&heap[child], &heap[child + 1]))
      child++;
    if (!amped_best_leads(&heap[i], &heap[child]))
      return;
    exchange(&heap[i], &heap[child]);
    i = child;
  }
}

static void sift_up(amped_best_item *heap, uint64_t i) {
  while (i > 0 && amped_best_leads(&heap[(i - 1) / 2], &heap[i])) {
    exchange(&heap[i], &heap[(i - 1) / 2]);
    i = (i - 1) / 2;
  }
}

void amped_best_offer(amped_best_item *heap, uint64_t capacity, uint64_t *count,
                      amped_best_item x) {
  if (*count < capacity) {
    heap[*count] = x;
    sift_up(heap, (*count)++);
  } else if (amped_best_leads(&x, &heap[0])) {
    heap[0] = x;
    sift_down(heap, capacity);
  }
}

static int compare(const void *a, const void *b) {
  return amped_best_leads(a, b) ? -1 : amped_best_leads(b, a) ? 1 : 0;
}

void amped_best_sort(amped_best_item *items, uint64_t count) {
  qsort(items, count, sizeof *items, compare);
}
