/* Shard: the nonzeros of a slab that belong to one rank, and their form in a message.
 *
 * Wire form of `count` nonzeros: one array for the indices of each mode (info->index_types) and one
 * for the values (info->value_type), without gaps. Arrays of larger elements come first, so that
 * all are aligned if the first is. Nonzeros are in the order of the copy. The plan alone determines
 * a rank's nonzeros of a slab, so sender and receiver both know the count.
 *
 * All memory is host memory. Nothing here is collective, and nothing fails for want of memory. */
#ifndef AMPED_SHARD_H
#define AMPED_SHARD_H

#include "backend/backend.h"
#include "load/slab_reader.h"

/* Cursor of a traversal of one copy. A copy is traversed twice: first for the nonzeros of iDps with
 * one owner, then (shared) for the nonzeros of split iDps. At the start of a traversal all members
 * are zero, except `shared`. */
typedef struct amped_shard_cursor {
  bool shared;
  uint64_t passed; /* nonzeros of the copy before the cursor */
  uint64_t idp;    /* first iDp with nonzeros in or after the next slab */
  uint64_t done;   /* nonzeros of this iDp in earlier slabs */
  uint64_t split;  /* split iDps before this iDp */
} amped_shard_cursor;

/* counts[p] = nonzeros of this traversal that rank p gets among the next `count` of mode's copy.
 * Advances the cursor over them. */
void amped_shard_count(const amped_plan *plan, int mode, amped_shard_cursor *cursor, uint64_t count,
                       uint64_t *counts);

/* Pack rank p's shard of the slab into wire[p]; NULL: skip this rank. counts: from
 * amped_shard_count. Advances `cursor` over the slab. Uses all OpenMP threads. */
void amped_shard_pack(const amped_tensor_info *info, const amped_plan *plan, int mode,
                      amped_shard_cursor *cursor, const amped_slab *slab, const uint64_t *counts,
                      char *const *wire);

/* Arrays of an amped_batch into which a shard is translated: the plan's types, `capacity` nonzeros,
 * host memory of the backend. The caller allocates and frees them. */
typedef struct amped_shard_buffers {
  uint64_t capacity;
  void *rows;
  void *inputs[AMPED_MAX_ORDER - 1];
  void *values;
} amped_shard_buffers;

/* Translate file indices to positions, and values to their form in memory, and set *batch to the
 * buffers. *hash = the sum of the nonzeros' hashes. Returns false if a nonzero is in an iDp without
 * a row on this rank: the iDp table is wrong. Uses all OpenMP threads. */
bool amped_shard_translate(const amped_tensor_info *info, const amped_plan *plan, int mode,
                           const char *wire, uint64_t count, const amped_shard_buffers *buffers,
                           amped_batch *batch, uint64_t *hash);

#endif
