/* Box traversal: the pieces of a box copy on a GPU, and the order in which each mode's MTTKRP takes
 * them. Twin of src/cpu/boxes/box_traversal_cpu.h.
 *
 * A piece is at most AMPED_BOX_PIECE nonzeros of one box. They lie in one span of the layout, and
 * either all in own rows of the copy's mode or all in shared rows. A tile is the boxes of one range
 * of output rows. A bundle is the work that a thread block takes at a time: pieces of one tile.
 * Bundles are ordered by span, then by tile, then by the range of the longest other mode, whose
 * direction alternates from tile to tile.
 *
 * Host memory, owned by the structs. Pure functions of their arguments, without CUDA. */
#ifndef AMPED_BOX_TRAVERSAL_CUDA_H
#define AMPED_BOX_TRAVERSAL_CUDA_H

#ifdef __cplusplus
extern "C" {
#endif

#include "cuda/sorted/layout_cuda.h"

/* Most nonzeros of a piece, and most pieces of a bundle. */
#define AMPED_BOX_PIECE 1024
#define AMPED_BOX_BUNDLE_PIECES 128

/* Mask of a piece's number of nonzeros, and flag of a piece with shared rows. */
#define AMPED_BOX_COUNT 0x7fffffffU
#define AMPED_BOX_SHARED 0x80000000U

typedef struct amped_box_pieces_cuda {
  uint64_t count;
  uint64_t *firsts;  /* [count] the first nonzero's number in the copy */
  uint32_t *counts;  /* [count] number of nonzeros, with AMPED_BOX_SHARED */
  uint32_t *tiles;   /* [count * order] of each piece and mode: first index of the box >>
                        low_bits */
  uint64_t spans;    /* number of spans in the layout */
  uint64_t *of_span; /* [spans + 1] pieces before each span */
} amped_box_pieces_cuda;

/* Make the pieces. starts: [slots] as amped_box_pack_cuda leaves it. The free function also accepts
 * a struct of zeros, and one whose making failed. */
amped_status amped_box_pieces_cuda_make(amped_box_pieces_cuda *p, const amped_plan *plan,
                                        const amped_layout_cuda *layout, const uint64_t *starts,
                                        uint64_t slots);
void amped_box_pieces_cuda_free(amped_box_pieces_cuda *p);

typedef struct amped_box_bundles_cuda {
  uint32_t *turns; /* [pieces] number of the piece that is taken at each place of the order */
  uint64_t count;
  uint32_t *firsts;  /* [count + 1] index in turns of each bundle's first piece */
  uint64_t *of_span; /* [spans + 1] bundles before each span */
} amped_box_bundles_cuda;

/* Make bundles of at most `most` nonzeros; most is at least AMPED_BOX_PIECE. */
amped_status amped_box_bundles_cuda_make(amped_box_bundles_cuda *b, const amped_plan *plan,
                                         const amped_box_pieces_cuda *pieces, int mode,
                                         uint64_t most);
void amped_box_bundles_cuda_free(amped_box_bundles_cuda *b);

/* Number of entries of `starts`; most pieces that a copy in `spans` spans can have. */
uint64_t amped_box_slots_cuda(const amped_plan *plan);
uint64_t amped_box_most_pieces_cuda(const amped_plan *plan, uint64_t spans);

/* Rows of the result of mode's MTTKRP on the plan's rank: the rank's output rows for the copy's
 * mode, else all rows of the factor. */
uint64_t amped_box_rows_cuda(const amped_plan *plan, int mode);

#ifdef __cplusplus
}
#endif

#endif
