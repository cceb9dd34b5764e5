/* Box walk: the way of one mode's MTTKRP through a box copy.
 *
 * A tile is the boxes that lie in one range of the mode's rows. Pieces are visited tile by tile; in
 * a tile by the ranges of the longest other mode, to and fro. A unit is the work of one thread: a
 * tile, so that no two threads add to one row; or a part of a tile of many nonzeros, which has sums
 * of its own, in double, and a join adds up the sums of a tile's parts. Units depend on counts
 * alone.
 *
 * Floats are added up AMPED_FLOAT_TERMS at a time at most. Rows with more nonzeros have sums in
 * double: see amped_box_way.
 *
 * Host memory, owned by the struct. The copy outlives its walks. Not collective. */
#ifndef AMPED_BOX_WALK_CPU_H
#define AMPED_BOX_WALK_CPU_H

#include "cpu/box_copy_cpu.h"

/* Additions of floats to one sum at most: a thousand equal terms lose 1e-5 of it. */
#define AMPED_FLOAT_TERMS 512

/* How a unit adds up. */
typedef enum amped_box_way {
  AMPED_BOX_DIRECT,  /* in the values' type, in the output */
  AMPED_BOX_FLUSHED, /* in floats, which go to sums in double before they get too many terms */
  AMPED_BOX_HOT,     /* rows with many nonzeros in double, the others in the output */
  AMPED_BOX_DOUBLE   /* in double: a part alone */
} amped_box_way;

typedef struct amped_box_unit {
  uint64_t first, end; /* pieces, by their turn */
  uint64_t nnz;
  uint64_t row, rows;    /* of its tile */
  uint64_t clear, until; /* rows that are this unit's to zero; none of a part's */
  uint64_t slot;         /* of a part: its rows of sums; AMPED_NO_ROW: the unit is a tile */
  uint64_t hot;          /* rows with many nonzeros, with AMPED_BOX_HOT */
  amped_box_way way;
} amped_box_unit;

typedef struct amped_box_join {
  uint64_t row, rows, clear, until; /* as of a unit */
  uint64_t slot, parts;             /* their slots follow each other */
} amped_box_join;

typedef struct amped_box_walk {
  uint64_t *order; /* [pieces] their numbers by turn */
  uint64_t unit_count;
  amped_box_unit *units; /* the most nonzeros first */
  uint64_t join_count;
  amped_box_join *joins;
  uint64_t rows;        /* of the mode's result on this rank: of its output, or of all sums */
  bool runs;            /* neighbours often share a row */
  uint64_t *hot;        /* a bit a row: it has many nonzeros; NULL: none has */
  uint32_t *hot_before; /* [words of hot] hot rows before the word */
} amped_box_walk;

/* Of a finished copy. Sets the pieces' most[mode]. The caller has zeroed *w, and calls free, also
 * where this fails. */
amped_status amped_box_walk_create(amped_box_walk *w, amped_box_copy *c, int mode, int threads);
void amped_box_walk_free(amped_box_walk *w);

/* Hot rows before `row`. */
static inline uint64_t amped_box_walk_hot(const amped_box_walk *w, uint64_t row) {
  const uint64_t below = (UINT64_C(1) << row % 64) - 1;
  return w->hot_before[row / 64] + (uint64_t)__builtin_popcountll(w->hot[row / 64] & below);
}

/* Rows of the result of mode's MTTKRP on the plan's rank. */
uint64_t amped_box_walk_rows(const amped_plan *plan, int mode);

/* At most, of mode's walk: its bytes; bytes beside them while it is made; rows of all slots; rows
 * of a thread's sums in double. */
uint64_t amped_box_walk_bytes(const amped_plan *plan, int mode);
uint64_t amped_box_walk_making_bytes(const amped_plan *plan, int mode, int threads);
uint64_t amped_box_walk_slot_rows(const amped_plan *plan, int mode);
uint64_t amped_box_walk_own_rows(const amped_plan *plan, int mode);

#endif
