/* Held entries: a sample of the entries that a stream holds out, of bounded size.
 *
 * Of all entries that ever came, those with the least hashes stay. So the sample depends on the
 * entries alone, not on the batches that brought them. Of several entries of one cell the last one
 * counts. A pure function of lists in host memory. */
#ifndef AMPED_HELD_ENTRIES_H
#define AMPED_HELD_ENTRIES_H

#include "tensor/sptensor.h"

/* The hash of a cell over a seed, the same as that of a hold-out (backend/row_fit.h). */
uint64_t amped_held_hash(int order, const uint64_t *index, uint64_t seed);

/* `kept` is in ascending order of hash and indices, or zeroed but for its order; so it is
 * afterwards, with entries of `more`, of any order, and at most `most` entries in all. On failure
 * it stays as it was. dims, labels and duplicates do not count, and stay. */
amped_status amped_held_entries_add(amped_sptensor *kept, const amped_sptensor *more, uint64_t seed,
                                    uint64_t most);

#endif
