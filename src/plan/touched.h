/* Touched rows: the rows of a mode with entries in a batch of a stream, renumbered. A plan over
 * these numbers, and everything based on it, takes time and memory for the touched rows, however
 * many rows the stream has.
 *
 * The owner of row i of a stream is rank (i / AMPED_STREAM_BLOCK) % nranks. So owners stay while
 * modes grow, and every rank knows the owner of a new row. Numbers go by owner, rank 0's first,
 * then by row. An owner's first number is a multiple of the width of an iDp (tensor/partition.h),
 * so that an iDp has one owner; numbers without a row are unused.
 *
 * Pure functions. Host memory, owned by the struct or the caller. All OpenMP threads are used;
 * their number does not change results. */
#ifndef AMPED_TOUCHED_H
#define AMPED_TOUCHED_H

#include "base/status.h"
#include "base/types.h"

#define AMPED_STREAM_BLOCK UINT64_C(64)

AMPED_BOTH static inline int amped_stream_owner(uint64_t index, int nranks) {
  return (int)(index / AMPED_STREAM_BLOCK % (uint64_t)nranks);
}
/* The row's place among its owner's rows. */
AMPED_BOTH static inline uint64_t amped_stream_slot(uint64_t index, int nranks) {
  return index / (AMPED_STREAM_BLOCK * (uint64_t)nranks) * AMPED_STREAM_BLOCK +
         index % AMPED_STREAM_BLOCK;
}
/* The row at place `slot` of a rank's rows. */
AMPED_BOTH static inline uint64_t amped_stream_index(uint64_t slot, int rank, int nranks) {
  return (slot / AMPED_STREAM_BLOCK * (uint64_t)nranks + (uint64_t)rank) * AMPED_STREAM_BLOCK +
         slot % AMPED_STREAM_BLOCK;
}
/* Number of a rank's rows among rows 0 .. dim - 1. */
uint64_t amped_stream_own_rows(uint64_t dim, int rank, int nranks);

/* 64 rows of one owner: one bit per row, and the number of the first row whose bit is set. */
typedef struct amped_touched_word {
  uint64_t bits, first;
} amped_touched_word;

typedef struct amped_touched {
  uint64_t count;
  uint64_t *rows;    /* [count] ascending */
  uint64_t *numbers; /* [count] numbers of the rows; NULL: 0, 1, 2 and so on, as on one rank */
  uint64_t dim;      /* end of the numbers, unused ones included */
  int *owners;       /* [ceil(dim / width)] owners of iDps */
  amped_touched_word *words; /* [amped_touched_words], if found by bits; else NULL */
} amped_touched;

/* The number of rows[k]. */
static inline uint64_t amped_touched_number(const amped_touched *t, uint64_t k) {
  return t->numbers != NULL ? t->numbers[k] : k;
}

/* Find the rows below dim by one bit per row, for this number of entries? False if dim is so large
 * that sorting takes less time. */
bool amped_touched_has_bits(uint64_t entries, uint64_t dim);
static inline uint64_t amped_touched_words(uint64_t dim) {
  return amped_ceil_div(dim, AMPED_STREAM_BLOCK);
}
/* *bits = one bit per row, set for these rows, in words. The caller frees it (amped_free); NULL on
 * failure. */
amped_status amped_touched_mark(const uint64_t *indices, uint64_t count, uint64_t dim,
                                uint64_t **bits);

/* Make the touched rows: from set bits, at least one; or from the indices of all entries. free
 * accepts a zeroed struct. */
amped_status amped_touched_of_bits(amped_touched *t, const uint64_t *bits, uint64_t dim,
                                   int nranks);
amped_status amped_touched_of_indices(amped_touched *t, const uint64_t *indices, uint64_t count,
                                      int nranks);
void amped_touched_free(amped_touched *t);

/* numbers[k], of `type`, = the number of row indices[k], which must be touched. */
void amped_touched_number_all(const amped_touched *t, const uint64_t *indices, uint64_t count,
                              amped_itype type, void *numbers);

#endif
