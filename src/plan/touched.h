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

/* Rows of one owner: a bit each, and the number of the first one whose bit is set. */
typedef struct amped_touched_word {
  uint64_t bits, first;
} amped_touched_word;

typedef struct amped_touched {
  uint64_t count;
  uint64_t *rows;            /* [count] ascending */
  uint64_t *numbers;         /* [count] of rows; NULL: 0, 1, 2 and so on, as on one rank */
  uint64_t dim;              /* numbers, with gaps */
  int *owners;               /* [ceil(dim / width)] of iDps */
  amped_touched_word *words; /* [amped_touched_words], where rows have a bit each */
} amped_touched;

/* The number of rows[k]. */
static inline uint64_t amped_touched_number(const amped_touched *t, uint64_t k) {
  return t->numbers != NULL ? t->numbers[k] : k;
}

/* Do rows below dim have a bit each where there are so many entries? Else dim is so much more that
 * to sort takes less time. */
bool amped_touched_has_bits(uint64_t entries, uint64_t dim);
static inline uint64_t amped_touched_words(uint64_t dim) {
  return amped_ceil_div(dim, AMPED_STREAM_BLOCK);
}
/* *bits, from amped_alloc, = the bits of these rows, in words; NULL on failure. */
amped_status amped_touched_mark(const uint64_t *indices, uint64_t count, uint64_t dim,
                                uint64_t **bits);

/* The touched rows are those whose bits are set, at least one. Or the different ones of the indices
 * of all entries. free takes a zeroed struct, too. */
amped_status amped_touched_of_bits(amped_touched *t, const uint64_t *bits, uint64_t dim,
                                   int nranks);
amped_status amped_touched_of_indices(amped_touched *t, const uint64_t *indices, uint64_t count,
                                      int nranks);
void amped_touched_free(amped_touched *t);

/* numbers[k], of `type`, = that of indices[k], which is a touched row. */
void amped_touched_number_all(const amped_touched *t, const uint64_t *indices, uint64_t count,
                              amped_itype type, void *numbers);

#endif
