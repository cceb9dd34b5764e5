/* Sort: puts parallel arrays into the order of one key, by a stable radix sort; or finds this
 * order.
 *
 * The key of position i is its fields, the first one most significant, as one number of any length.
 * Host memory; all OpenMP threads; the result does not depend on their number. */
#ifndef AMPED_SORT_H
#define AMPED_SORT_H

#include <stdbool.h>

#include "base/status.h"
#include "base/types.h"

/* Part of the key: bits 0 .. bits-1 of values[i]; higher bits must be zero for all i. */
typedef struct amped_sort_field {
  const uint64_t *values;
  int bits;
} amped_sort_field;

/* Bits that a field of these values needs; 0 if all values are zero. */
int amped_sort_bits(const uint64_t *values, uint64_t count);

/* Bytes of workspace per element. */
#define AMPED_SORT_SCRATCH 16

/* Reorder every array (count elements of 8 bytes; the fields' values may be among them) so that
 * keys ascend. word_bits: number of key bits sorted at a time; 0: all that fit. The result does not
 * depend on it; tests pass small numbers. If memory is too small, no element has moved. */
amped_status amped_sort(uint64_t count, const amped_sort_field *fields, int nfields, int word_bits,
                        void *const *arrays, int narrays);

/* The position of the first of `count` ascending values that is not below `value`; count if there
 * is none. */
uint64_t amped_sort_find(const uint64_t *values, uint64_t count, uint64_t value);

/* Comparisons for qsort, in ascending order: doubles that are not NaN, and uint64_t. */
int amped_compare_doubles(const void *left, const void *right);
int amped_compare_counts(const void *left, const void *right);

/* Order: a permutation that makes keys ascend; the elements themselves do not move. entries[i]
 * holds a position in its low position_bits, and bits of the key above them. */
typedef struct amped_order {
  uint64_t count;
  const uint64_t *entries;
  int position_bits;
  bool keyed; /* entries hold the whole key */
} amped_order;

static inline uint64_t amped_order_at(const amped_order *o, uint64_t i) {
  return o->entries[i] & ((UINT64_C(1) << o->position_bits) - 1);
}
/* The key of the i-th element; only if the order is keyed. */
static inline uint64_t amped_order_key(const amped_order *o, uint64_t i) {
  return o->entries[i] >> o->position_bits;
}

/* Find the order of `count` elements, at least 1. a and b have `count` elements each; out->entries
 * becomes one of them, the other is free again. */
amped_status amped_sort_order(uint64_t count, const amped_sort_field *fields, int nfields,
                              uint64_t *a, uint64_t *b, amped_order *out);

#endif
