/* Box walk: the pieces of a box copy on a GPU, and the way of each mode's MTTKRP through them. Twin
 * of src/cpu/box_walk_cpu.h.
 *
 * A piece is nonzeros of one box: at most AMPED_BOX_PIECE of them, in one span of the layout, and
 * all in own rows of the copy's mode or all in shared ones. A tile is the boxes that lie in one
 * range of the output's rows. A bundle is the work that a thread block takes at a time: pieces of
 * one tile. Bundles follow each other span by span, in a span tile by tile, in a tile by the ranges
 * of the longest other mode, to and fro.
 *
 * Host memory, owned by the structs; pure functions of their arguments; no CUDA in here. */
#ifndef AMPED_BOX_WALK_CUDA_H
#define AMPED_BOX_WALK_CUDA_H

#ifdef __cplusplus
extern "C" {
#endif

#include "cuda/sorted/layout_cuda.h"

/* Nonzeros of a piece, and pieces of a bundle, at most. */
#define AMPED_BOX_PIECE 1024
#define AMPED_BOX_BUNDLE_PIECES 128

/* The count of a piece, and the flag of one with shared rows. */
#define AMPED_BOX_COUNT 0x7fffffffU
#define AMPED_BOX_SHARED 0x80000000U

typedef struct amped_box_pieces_cuda {
  uint64_t count;
  uint64_t *firsts;  /* [count] number of the first nonzero in the copy */
  uint32_t *counts;  /* [count] of nonzeros, with AMPED_BOX_SHARED */
  uint32_t *tiles;   /* [count * order] of each mode: the base of the box >> low_bits */
  uint64_t spans;    /* of the layout */
  uint64_t *of_span; /* [spans + 1] pieces before each span */
} amped_box_pieces_cuda;

/* starts as amped_box_pack_cuda leaves it; `slots` of them. free takes a struct of zeros, too, and
 * one whose making failed. */
amped_status amped_box_pieces_cuda_make(amped_box_pieces_cuda *p, const amped_plan *plan,
                                        const amped_layout_cuda *layout, const uint64_t *starts,
                                        uint64_t slots);
void amped_box_pieces_cuda_free(amped_box_pieces_cuda *p);

typedef struct amped_box_bundles_cuda {
  uint32_t *turns; /* [pieces] their numbers by turn */
  uint64_t count;
  uint32_t *firsts;  /* [count + 1] turns before each bundle */
  uint64_t *of_span; /* [spans + 1] bundles before each span */
} amped_box_bundles_cuda;

/* Bundles of at most `most` nonzeros, at least AMPED_BOX_PIECE. */
amped_status amped_box_bundles_cuda_make(amped_box_bundles_cuda *b, const amped_plan *plan,
                                         const amped_box_pieces_cuda *pieces, int mode,
                                         uint64_t most);
void amped_box_bundles_cuda_free(amped_box_bundles_cuda *b);

/* Places in `starts`; pieces that a copy has at most, in so many spans. */
uint64_t amped_box_slots_cuda(const amped_plan *plan);
uint64_t amped_box_most_pieces_cuda(const amped_plan *plan, uint64_t spans);

/* Rows of the result of mode's MTTKRP on the plan's rank: of its output, or of all sums. */
uint64_t amped_box_rows_cuda(const amped_plan *plan, int mode);

#ifdef __cplusplus
}
#endif

#endif
