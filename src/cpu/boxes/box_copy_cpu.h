/* Box copy: a rank's nonzeros in one copy for all modes, in host memory, grouped into the boxes of
 * plan->linear (plan/linear.h).
 *
 * Boxes lie one after another by number; empty boxes take no memory. Within a box, nonzeros keep
 * the order in which they were added, so rows of the copy's mode ascend. Boxes are cut into pieces.
 * All nonzeros of a piece belong to one box, and either none or all of them to shared rows of the
 * copy's mode (plan.h).
 *
 * create allocates memory for the nonzeros of the plan's rank. add takes translated nonzeros in the
 * order of the copy, and finish sorts them by box. The result does not depend on the number of
 * threads. Not collective. */
#ifndef AMPED_BOX_COPY_CPU_H
#define AMPED_BOX_COPY_CPU_H

#include "backend/backend.h"

/* Most nonzeros of a piece. */
#define AMPED_PIECE_NNZ 4096

typedef struct amped_box_piece {
  uint64_t first;
  uint32_t count;
  bool shared;                    /* true: its rows of the copy's mode are shared rows */
  uint64_t base[AMPED_MAX_ORDER]; /* base position of its box per mode; a nonzero's fields are added
                                     to it */
  uint16_t most[AMPED_MAX_ORDER]; /* most nonzeros of any one row per mode, once a traversal has
                                     counted them */
} amped_box_piece;

/* A box copy. Owns its arrays; amped_box_copy_free frees them. */
typedef struct amped_box_copy {
  const amped_plan *plan; /* borrowed */
  uint64_t nnz;           /* in the complete copy */
  uint64_t filled;        /* added so far */
  uint64_t last_row;      /* row of the last nonzero added */
  void *planes[AMPED_MAX_PLANES];
  void *values; /* NULL if the planes contain codes of values */
  /* From the first add until finish: each nonzero's box number, then its place. */
  uint64_t *places;
  uint64_t piece_count;
  amped_box_piece *pieces;
} amped_box_copy;

/* Allocate. The caller zeroes *c before, and calls free also if create fails. */
amped_status amped_box_copy_create(amped_box_copy *c, const amped_plan *plan);
void amped_box_copy_free(amped_box_copy *c);

/* Add nonzeros offset .. offset + batch->count. dictionary: see pack_cpu.h. Returns AMPED_BAD_INPUT
 * if rows descend, or if a value is not in the dictionary. */
amped_status amped_box_copy_add(amped_box_copy *c, const double *dictionary, uint64_t offset,
                                const amped_batch *batch, int threads);
/* Sort the nonzeros into boxes and cut pieces, after the last add. */
amped_status amped_box_copy_finish(amped_box_copy *c, int threads);

/* Upper bounds in bytes: the complete copy; additional memory while it is made. */
uint64_t amped_box_copy_bytes(const amped_plan *plan);
uint64_t amped_box_copy_making_bytes(const amped_plan *plan, int threads);

/* Row of mode of nonzero k, or its position, in a box with this base. */
uint64_t amped_box_copy_row(const amped_box_copy *c, int mode, uint64_t base, uint64_t k);

/* Upper bound on the number of pieces of a copy. */
uint64_t amped_box_copy_most_pieces(const amped_plan *plan);

#endif
