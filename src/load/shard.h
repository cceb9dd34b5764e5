/* Shard: the nonzeros of a slab that belong to one rank, in the form in which they travel.
 *
 * Wire form of `count` nonzeros: one array for the indices of each mode (info->index_types) and one
 * for the values (info->value_type), one directly behind the other. Arrays of larger elements come
 * first, so that all are aligned where the first is. Nonzeros are in the order of the copy. The
 * plan alone tells which nonzeros of a slab belong to a rank, so sender and receiver both know the
 * count.
 *
 * All memory is host memory. Nothing here is collective or fails for want of memory. */
#ifndef AMPED_SHARD_H
#define AMPED_SHARD_H

#include "backend/backend.h"
#include "load/slab_reader.h"

/* A place in one copy, which walks over its iDps. A copy is walked over twice: first for the
 * nonzeros of iDps with one owner, then (shared) for the nonzeros of split iDps. At the start of a
 * walk all members are zero, except `shared`. */
typedef struct amped_shard_cursor {
  bool shared;
  uint64_t passed; /* nonzeros of the copy before the cursor */
  uint64_t idp;    /* the first iDp that the next slab may hold nonzeros of */
  uint64_t done;   /* nonzeros of that iDp in earlier slabs */
  uint64_t split;  /* split iDps before that iDp */
} amped_shard_cursor;

/* counts[p] = nonzeros of the walk that rank p gets among the next `count` of mode's copy. Moves
 * the cursor over them. */
void amped_shard_count(const amped_plan *plan, int mode, amped_shard_cursor *cursor, uint64_t count,
                       uint64_t *counts);

/* wire[p] gets rank p's shard of the slab; NULL: that rank's is not packed. amped_shard_count has
 * filled counts. Moves its own cursor over the slab. All OpenMP threads. */
void amped_shard_pack(const amped_tensor_info *info, const amped_plan *plan, int mode,
                      amped_shard_cursor *cursor, const amped_slab *slab, const uint64_t *counts,
                      char *const *wire);

/* The arrays of an amped_batch that a shard is translated into: the plan's types, room for
 * `capacity` nonzeros, host memory of the backend. The caller allocates and frees them. */
typedef struct amped_shard_buffers {
  uint64_t capacity;
  void *rows;
  void *inputs[AMPED_MAX_ORDER - 1];
  void *values;
} amped_shard_buffers;

/* Translates file indices to positions, values to those in memory, and sets *batch to the buffers.
 * *hash = the sum of the nonzeros' hashes. False where a nonzero is in an iDp of which this rank
 * has no part: the table is wrong. All OpenMP threads. */
bool amped_shard_translate(const amped_tensor_info *info, const amped_plan *plan, int mode,
                           const char *wire, uint64_t count, const amped_shard_buffers *buffers,
                           amped_batch *batch, uint64_t *hash);

#endif
