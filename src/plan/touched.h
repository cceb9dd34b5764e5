/* Touched rows: the rows of a mode that a batch of a stream has entries of, numbered anew. A plan
 * over these numbers, and all that follows from it, takes time and memory for what is new, however
 * many rows the stream has.
 *
 * Row i of a stream has the rank (i / AMPED_STREAM_BLOCK) % nranks for its owner. So owners stay
 * while modes grow, and a new row's is known to all. Numbers go by owner, rank 0's first, each
 * owner's in the order of rows. An owner's first number is a multiple of the width of an iDp
 * (tensor/partition.h), so that an iDp has one owner; numbers without a row are gaps.
 *
 * Pure functions. Host memory, owned by the struct or the caller; all OpenMP threads, whose number
 * changes nothing. */
#ifndef AMPED_TOUCHED_H
#define AMPED_TOUCHED_H

#include "base/status.h"
#include "base/types.h"

#define AMPED_STREAM_BLOCK UINT64_C(64)

AMPED_BOTH static inline int amped_stream_owner(uint64_t index, int nranks) {
  return (int)(index / AMPED_STREAM_BLOCK % (uint64_t)nranks);
}
/* The row's place among those of its owner. */
AMPED_BOTH static inline uint64_t amped_stream_slot(uint64_t index, int nranks) {
  return index / (AMPED_STREAM_BLOCK * (uint64_t)nranks) * AMPED_STREAM_BLOCK +
         index % AMPED_STREAM_BLOCK;
}
/* And back. */
AMPED_BOTH static inline uint64_t amped_stream_index(uint64_t slot, int rank, int nranks) {
  return (slot / AMPED_STREAM_BLOCK * (uint64_t)nranks + (uint64_t)rank) * AMPED_STREAM_BLOCK +
         slot % AMPED_STREAM_BLOCK;
}
/* Rows of a rank among dim. */
uint64_t amped_stream_own_rows(uint64_t dim, int rank, int nranks);

/* *rows = the different ones of `count` indices below dim, ascending, from amped_alloc, and *found
 * their number; places[k] = that of indices[k] among them. count is at least one. Time is about
 * that of the entries: rows are counted by a bit each, or sorted where dim is far more than count.
 * *rows is NULL on failure. */
amped_status amped_touched_find(const uint64_t *indices, uint64_t count, uint64_t dim,
                                uint64_t *places, uint64_t **rows, uint64_t *found);

typedef struct amped_touched {
  uint64_t count;
  uint64_t *rows;    /* [count] ascending */
  uint64_t *numbers; /* [count] of rows */
  uint64_t dim;      /* numbers, with gaps */
  int *owners;       /* [ceil(dim / width)] of iDps */
} amped_touched;

/* rows: [count] ascending, each once, at least one; from amped_alloc, and the struct's from now on,
 * on failure too. Free with the second, which takes a zeroed struct, too. */
amped_status amped_touched_create(amped_touched *t, uint64_t *rows, uint64_t count, int nranks);
void amped_touched_free(amped_touched *t);

#endif
