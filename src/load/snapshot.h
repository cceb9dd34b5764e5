/* Snapshot: a later version of a tensor that a state has learnt. It has all entries of the state's
 * batches, and new entries outside of the state's dimensions.
 *
 * A list is recognised by the number and the hash (amped_sptensor_hash) of its entries within these
 * dimensions: both must equal the sums over all batches. The sums depend neither on the order of
 * entries nor on their division into batches. So a snapshot has exactly the cells that were learnt,
 * with the same values. Host memory of rank 0; not collective. */
#ifndef AMPED_SNAPSHOT_H
#define AMPED_SNAPSHOT_H

#include "tensor/entry_sample.h"

/* The batches of a state. Start from {0}. Element k belongs to batches 1 to k + 1 together. */
typedef struct amped_batch_sums {
  uint64_t count;
  uint64_t *hashes, *nnz; /* [count] sums modulo 2^64; the arrays have spare capacity */
  uint64_t room;
} amped_batch_sums;

/* Add the next batch. */
amped_status amped_batch_sums_add(amped_batch_sums *sums, uint64_t hash, uint64_t nnz);
void amped_batch_sums_free(amped_batch_sums *sums);

/* The cells that a state has learnt or held out: a sample (tensor/entry_sample.h). Borrowed. */
typedef struct amped_known_list {
  const amped_sptensor *cells; /* in the state's indices */
  uint64_t most;               /* most cells in the sample; if there are fewer, it has all */
  uint64_t seed;
  bool weighted; /* the first fit had weights; entries of weight 0 are not in the sample */
} amped_known_list;

/* Is the cell certainly none of them? list NULL: false. */
bool amped_known_list_lacks(const amped_known_list *list, const uint64_t *index);

/* Does the list have all cells of a state? NULL: false. */
bool amped_known_list_is_whole(const amped_known_list *list);

/* Entries of a batch that the first fit had with weight 0. */
typedef struct amped_unlearnt {
  uint64_t nnz, hash; /* hash: the sum of their hashes */
  double squares;     /* sum of squares of their values */
} amped_unlearnt;

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

/* Remove the first `count` entries, or the entries within dims. The order of the others stays.
 * Entries of weight 0 stay, too, and are returned, if it is known which they are: with weights, and
 * a whole list. */
amped_unlearnt amped_beginning_cut(uint64_t count, const amped_known_list *known,
                                   amped_sptensor *list);
amped_unlearnt amped_snapshot_cut(const uint64_t *dims, const amped_known_list *known,
                                  amped_sptensor *list);

/* The entries of weight 0 of a list whose entries the state has, if it is known which they are. */
amped_unlearnt amped_unlearnt_of(const amped_known_list *known, const amped_sptensor *list);

/* Returns AMPED_BAD_INPUT, with one line, for a list that is no snapshot. name, path: of the list
 * and the state. */
amped_status amped_snapshot_refuse(const amped_snapshot *found, const amped_batch_sums *sums,
                                   const char *name, const char *path);

#endif
