/* Share: the part of a slab that belongs to one rank, as it travels to that rank.
 *
 * Wire form of `count` nonzeros: the index array of every mode (info->index_types) and the values
 * (info->value_type), each directly behind the other, those of larger elements first, so that all
 * are aligned where the first is; nonzeros are in the order of the copy. Which nonzeros of a
 * slab a rank gets follows from the plan alone, so sender and receiver both know the count. */
#ifndef AMPED_SHARE_H
#define AMPED_SHARE_H

#include "backend/backend.h"
#include "load/slab_reader.h"

/* Walks the iDps of one copy in step with its slabs. A copy is dealt out in two walks: first the
 * nonzeros of iDps that have one owner, then (shared) those of split ones. Zero, but for shared, at
 * the start of a walk. */
typedef struct amped_share_cursor {
  bool shared;
  uint64_t passed; /* nonzeros of the copy before the cursor */
  uint64_t idp;    /* the first iDp that the next slab may hold nonzeros of */
  uint64_t done;   /* nonzeros of that iDp that earlier slabs held */
  uint64_t split;  /* split iDps before that one */
} amped_share_cursor;

/* counts[p] = nonzeros of the walk that rank p gets among the next `count` of mode's copy. Advances
 * the cursor over them. */
void amped_share_count(const amped_plan *plan, int mode, amped_share_cursor *cursor, uint64_t count,
                       uint64_t *counts);

/* Pack the slab's nonzeros of every rank p with wire[p] not NULL; counts[p] is what
 * amped_share_count said. Advances its own cursor over the slab. */
void amped_share_pack(const amped_tensor_info *info, const amped_plan *plan, int mode,
                      amped_share_cursor *cursor, const amped_slab *slab, const uint64_t *counts,
                      char *const *wire);

/* Arrays that a wire form is translated into: amped_batch of the plan's types, `capacity` nonzeros
 * of host memory from the backend. */
typedef struct amped_share_buffers {
  uint64_t capacity;
  void *rows;
  void *inputs[AMPED_MAX_ORDER - 1];
  void *values;
} amped_share_buffers;

/* Translate indices to positions (all threads) and set *run to the buffers. *hash gets the sum of
 * the nonzeros' hashes. False where a nonzero is of an iDp that this rank has no part of: the table
 * lies. */
bool amped_share_translate(const amped_tensor_info *info, const amped_plan *plan, int mode,
                           const char *wire, uint64_t count, const amped_share_buffers *buffers,
                           amped_batch *batch, uint64_t *hash);

#endif
