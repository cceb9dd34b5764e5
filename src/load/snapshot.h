/* Snapshot: a later version of a tensor that a state has learnt. It has all entries of the state's
 * batches, and new entries outside of the state's dimensions.
 *
 * A list is recognised by the number and the hash (amped_sptensor_hash) of its entries within these
 * dimensions: both must equal the sums over all batches. The sums depend neither on the order of
 * entries nor on their division into batches. So a snapshot has exactly the cells that were learnt,
 * with the same values. Host memory of rank 0; not collective. */
#ifndef AMPED_SNAPSHOT_H
#define AMPED_SNAPSHOT_H

#include "tensor/sptensor.h"

/* The batches of a state. Start from {0}. Element k belongs to batches 1 to k + 1 together. */
typedef struct amped_batch_sums {
  uint64_t count;
  uint64_t *hashes, *nnz; /* [count] sums modulo 2^64; the arrays have spare capacity */
  uint64_t room;
} amped_batch_sums;

/* Add the next batch. */
amped_status amped_batch_sums_add(amped_batch_sums *sums, uint64_t hash, uint64_t nnz);
void amped_batch_sums_free(amped_batch_sums *sums);

/* How a list relates to the batches of a state. */
typedef struct amped_snapshot {
  uint64_t inside;  /* entries within the state's dimensions */
  uint64_t same_as; /* batches 1 to same_as together have the same entries; 0: none have */
  bool is_one;      /* a snapshot of all batches */
} amped_snapshot;

/* Compare a list, in the state's indices, with the batches. dims: the state's. */
amped_snapshot amped_snapshot_of(const amped_batch_sums *sums, const uint64_t *dims,
                                 const amped_sptensor *list);

/* A list that begins with whole batches, one after another, as a file does to which rows were
 * added. Their entries are in the order of the list, batches in any order. */
typedef struct amped_beginning {
  uint64_t nnz;  /* entries of these batches; 0: there is none. Fewer than 3 do not count, because
                    they may have come again */
  uint64_t last; /* the last of these batches, counted from 1 */
} amped_beginning;
amped_status amped_beginning_of(const amped_batch_sums *sums, const amped_sptensor *list,
                                amped_beginning *out);

/* Remove the first `count` entries. */
void amped_beginning_cut(uint64_t count, amped_sptensor *list);

/* Remove the entries within dims. The order of the others stays. */
void amped_snapshot_cut(const uint64_t *dims, amped_sptensor *list);

/* Returns AMPED_BAD_INPUT, with one line, for a list that is no snapshot. name, path: of the list
 * and the state. */
amped_status amped_snapshot_refuse(const amped_snapshot *found, const amped_batch_sums *sums,
                                   const char *name, const char *path);

#endif
