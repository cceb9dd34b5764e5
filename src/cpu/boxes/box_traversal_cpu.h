/* Box traversal: the order in which one mode's MTTKRP visits a box copy, and its division among
 * threads.
 *
 * A tile is the set of boxes in one range of the mode's rows. Pieces are visited tile by tile;
 * within a tile by ranges of the longest other mode, in alternating direction. A unit is the work
 * of one thread. It is a whole tile, so that no two threads add to one row, or a part of a tile
 * with many nonzeros. Each part has sums of its own, in double, and a join adds up the parts of a
 * tile. Units depend on counts only.
 *
 * At most AMPED_FLOAT_TERMS floats are added to one sum. Rows with more nonzeros have sums in
 * double: see amped_box_way.
 *
 * Host memory, owned by the struct. The copy outlives its traversals. Not collective. */
#ifndef AMPED_BOX_TRAVERSAL_CPU_H
#define AMPED_BOX_TRAVERSAL_CPU_H

#include "cpu/boxes/box_copy_cpu.h"

/* Most additions to one sum in float. A thousand equal terms have a relative error of 1e-5. */
#define AMPED_FLOAT_TERMS 512

/* Place and type of a unit's sums. */
typedef enum amped_box_way {
  AMPED_BOX_DIRECT,   /* in the output, in the values' type */
  AMPED_BOX_FLUSHED,  /* in floats, which are added to sums in double before they have too many
                         terms */
  AMPED_BOX_FREQUENT, /* frequent rows in double, other rows in the output */
  AMPED_BOX_DOUBLE    /* in double; for parts only */
} amped_box_way;

typedef struct amped_box_unit {
  uint64_t first, end; /* range of pieces, by turn */
  uint64_t nnz;
  uint64_t row, rows;    /* rows of its tile */
  uint64_t clear, until; /* rows that this unit sets to zero; empty for a part */
  uint64_t slot;         /* first row of sums, if the unit is a part; AMPED_NO_ROW: it is a whole
                            tile */
  uint64_t frequent;     /* number of frequent rows, for AMPED_BOX_FREQUENT */
  amped_box_way way;
} amped_box_unit;

typedef struct amped_box_join {
  uint64_t row, rows, clear, until; /* see amped_box_unit */
  uint64_t slot, parts;             /* first part's slot, and number of parts; their slots are
                                       adjacent */
} amped_box_join;

typedef struct amped_box_traversal {
  uint64_t *order; /* [pieces] piece numbers by turn */
  uint64_t unit_count;
  amped_box_unit *units; /* sorted by nonzeros, most first */
  uint64_t join_count;
  amped_box_join *joins;
  uint64_t rows;      /* rows of the mode's result on this rank: output rows, or all rows if they
                         are partial sums */
  bool runs;          /* neighbours often share a row */
  uint64_t *frequent; /* one bit per row: the row is frequent; NULL: no row is */
  uint32_t *frequent_before; /* [words of frequent] number of frequent rows before the word */
} amped_box_traversal;

/* Make mode's traversal over a finished copy, and set the member most[mode] of the copy's pieces.
 * The caller zeroes *w before. Call free also if create fails. */
amped_status amped_box_traversal_create(amped_box_traversal *w, amped_box_copy *c, int mode,
                                        int threads);
void amped_box_traversal_free(amped_box_traversal *w);

/* Number of frequent rows before `row`. */
static inline uint64_t amped_box_traversal_frequent(const amped_box_traversal *w, uint64_t row) {
  const uint64_t below = (UINT64_C(1) << row % 64) - 1;
  return w->frequent_before[row / 64] +
         (uint64_t)__builtin_popcountll(w->frequent[row / 64] & below);
}

/* Rows of the result of mode's MTTKRP on the plan's rank. */
uint64_t amped_box_traversal_rows(const amped_plan *plan, int mode);

/* Upper bounds for mode's traversal: its bytes; additional bytes while it is made; rows of all
 * slots; rows of a thread's sums in double. */
uint64_t amped_box_traversal_bytes(const amped_plan *plan, int mode);
uint64_t amped_box_traversal_making_bytes(const amped_plan *plan, int mode, int threads);
uint64_t amped_box_traversal_slot_rows(const amped_plan *plan, int mode);
uint64_t amped_box_traversal_own_rows(const amped_plan *plan, int mode);

#endif
