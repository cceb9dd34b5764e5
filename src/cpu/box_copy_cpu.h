/* Box copy: one rank's nonzeros in one copy for all modes, in host memory, in the boxes of
 * plan->linear (plan/linear.h).
 *
 * Boxes lie one behind another by their numbers; those without nonzeros take no room. In a box
 * nonzeros are in the order of the copy that was handed over, so rows of the copy's mode ascend.
 * Boxes are cut into pieces. All nonzeros of a piece belong to one box, and either none or all of
 * them to shared rows of the copy's mode (plan.h).
 *
 * create makes room for the nonzeros of the plan's rank. add takes translated nonzeros in the order
 * of the copy, finish sorts them by boxes. Threads do not change the result. Not collective. */
#ifndef AMPED_BOX_COPY_CPU_H
#define AMPED_BOX_COPY_CPU_H

#include "backend/backend.h"

/* Nonzeros of a piece at most. */
#define AMPED_PIECE_NNZ 4096

typedef struct amped_box_piece {
  uint64_t first;
  uint32_t count;
  bool shared;                    /* its rows of the copy's mode are shared ones */
  uint64_t base[AMPED_MAX_ORDER]; /* of its box; a nonzero's fields are added */
  uint16_t most[AMPED_MAX_ORDER]; /* nonzeros of one row at most, where a walk has counted them */
} amped_box_piece;

/* Arrays are owned by the struct. */
typedef struct amped_box_copy {
  const amped_plan *plan; /* borrowed */
  uint64_t nnz;           /* of the complete copy */
  uint64_t filled;        /* added so far */
  uint64_t last_row;      /* of the last one added */
  void *planes[AMPED_MAX_PLANES];
  void *values; /* NULL where values are coded in the planes */
  /* From the first nonzero until finish: the box of each nonzero, then its place. */
  uint64_t *places;
  uint64_t piece_count;
  amped_box_piece *pieces;
} amped_box_copy;

/* The caller has zeroed *c, and calls free, also where this fails. */
amped_status amped_box_copy_create(amped_box_copy *c, const amped_plan *plan);
void amped_box_copy_free(amped_box_copy *c);

/* Nonzeros offset .. offset+batch->count. dictionary as in pack_cpu.h. AMPED_BAD_INPUT: rows
 * descend, or a value is not in the dictionary. */
amped_status amped_box_copy_add(amped_box_copy *c, const double *dictionary, uint64_t offset,
                                const amped_batch *batch, int threads);
/* After the last of them. */
amped_status amped_box_copy_finish(amped_box_copy *c, int threads);

/* Bytes of the complete copy at most, and bytes beside them while it is made. */
uint64_t amped_box_copy_bytes(const amped_plan *plan);
uint64_t amped_box_copy_making_bytes(const amped_plan *plan, int threads);

/* Nonzero k's row of mode in a box of this base, or its position there. */
uint64_t amped_box_copy_row(const amped_box_copy *c, int mode, uint64_t base, uint64_t k);

/* Pieces that a copy has at most. */
uint64_t amped_box_copy_most_pieces(const amped_plan *plan);

#endif
