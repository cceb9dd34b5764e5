/* Entry sample: a sample of bounded size of the entries of one list after another.
 *
 * The entries with the smallest hashes stay, among all entries so far. So the sample depends only
 * on the entries, not on their division into lists. If several entries have one cell, the last
 * one counts. A pure function of lists in host memory. */
#ifndef AMPED_ENTRY_SAMPLE_H
#define AMPED_ENTRY_SAMPLE_H

#include "tensor/sptensor.h"

/* The hash of a cell with a seed, the same as for a hold-out (backend/row_fit.h). */
uint64_t amped_entry_sample_hash(int order, const uint64_t *index, uint64_t seed);

/* Merge the entries of `more`, in any order, into `kept`, which is sorted by hash and indices
 * before and after, or zeroed except for its order. At most `most` entries stay. On failure `kept`
 * is a sample without some of the new entries. dims, labels and duplicates are neither used nor
 * changed. */
amped_status amped_entry_sample_add(amped_sptensor *kept, const amped_sptensor *more, uint64_t seed,
                                    uint64_t most);

/* Does the sample have the cell? */
bool amped_entry_sample_has(const amped_sptensor *kept, const uint64_t *index, uint64_t seed);

/* Is the cell certainly not among all entries so far? The answer is exact if the sample has less
 * than `most` entries. Otherwise it is true only for a cell within the range of the sample's
 * hashes. */
bool amped_entry_sample_lacks(const amped_sptensor *kept, const uint64_t *index, uint64_t seed,
                              uint64_t most);

/* Cells of a list, each counted once, that lie in the range of a sample's hashes. */
typedef struct amped_known_cells {
  uint64_t compared;
  uint64_t known; /* cells that the sample has already */
  uint64_t same;  /* cells that it has with the same value, up to the tolerance */
  bool all;       /* the sample has every cell so far, so that all cells are compared */
} amped_known_cells;

/* Count the cells of `more`. The range ends at the last hash if there are `most` entries, so that
 * all counts are of a sample of all cells. tolerance: in units of the values, at least 0. */
amped_status amped_entry_sample_compare(const amped_sptensor *kept, const amped_sptensor *more,
                                        uint64_t seed, uint64_t most, double tolerance,
                                        amped_known_cells *out);

#endif
