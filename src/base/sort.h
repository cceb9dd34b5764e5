/* Sort: parallel arrays brought into the order of one key, by a stable radix sort.
 *
 * The key of position i is its fields, the first one most significant, as one number of any length.
 * Host memory; all OpenMP threads; the result does not depend on their number. */
#ifndef AMPED_SORT_H
#define AMPED_SORT_H

#include "base/status.h"
#include "base/types.h"

/* Part of the key: bits 0 .. bits-1 of values[i]; the bits above are zero for all i. */
typedef struct amped_sort_field {
  const uint64_t *values;
  int bits;
} amped_sort_field;

/* Bits that a field of these values needs; 0 where all values are zero. */
int amped_sort_bits(const uint64_t *values, uint64_t count);

/* Bytes of scratch for each element. */
#define AMPED_SORT_SCRATCH 24

/* Reorder every array (count elements of 8 bytes; the fields' values may be among them) so that
 * keys ascend. word_bits is the number of key bits sorted at a time; 0 means as many as fit. The
 * result does not depend on it; tests pass small numbers. Where memory does not suffice, no element
 * has moved. */
amped_status amped_sort(uint64_t count, const amped_sort_field *fields, int nfields, int word_bits,
                        void *const *arrays, int narrays);

#endif
