/* Row pieces: the rows of a copy, cut for row fits on a GPU.
 *
 * A piece is all nonzeros of a row, or consecutive ones of a long row, within one span of the
 * layout. A row is long if it has more nonzeros than a piece, crosses spans, or is shared with
 * other ranks. Each piece of a long row has a slot for its sums. A strip is some consecutive
 * pieces, the work of one warp; all strips have about the same work. A run is some consecutive
 * strips of one part of the rows (plan.h) in one span.
 *
 * Pure functions in host memory, without CUDA. They use all OpenMP threads; the result does not
 * depend on the number of threads. */
#ifndef AMPED_ROW_PIECES_CUDA_H
#define AMPED_ROW_PIECES_CUDA_H

#ifdef __cplusplus
extern "C" {
#endif

#include "cuda/sorted/layout_cuda.h"

/* Slot of a piece that is a whole row. */
#define AMPED_NO_SLOT UINT32_MAX

typedef struct amped_row_piece_cuda {
  uint64_t first; /* first nonzero, by number in the copy */
  uint64_t row;   /* row of the MTTKRP result */
  uint32_t count;
  uint32_t slot;
} amped_row_piece_cuda;

typedef struct amped_long_row_cuda {
  uint64_t row;
  uint32_t first; /* first slot */
  uint32_t count; /* number of slots */
} amped_long_row_cuda;

typedef struct amped_row_run_cuda {
  uint64_t first_strip, strips;
  uint64_t nonzero; /* start of a pack, at most a pack before the run's first nonzero */
  int part;         /* last part of which the run has rows */
} amped_row_run_cuda;

typedef struct amped_row_pieces_cuda {
  uint64_t count;
  amped_row_piece_cuda *pieces;
  uint64_t strips;
  uint64_t *strip_ends; /* [strips] piece after each strip */
  uint64_t long_count;
  amped_long_row_cuda *long_rows;
  uint64_t part_long[AMPED_MAX_PARTS + 1]; /* long rows before each part; last: all own long rows */
  uint32_t slots;
  uint64_t runs;
  amped_row_run_cuda *run;
} amped_row_pieces_cuda;

/* Nonzeros of a piece, at most, if the sums of a piece take slot_bytes. */
uint64_t amped_row_pieces_cuda_length(uint64_t nnz, uint64_t slot_bytes);

/* Upper bounds of the three counts, for mode's copy. */
typedef struct amped_row_pieces_limits_cuda {
  uint64_t pieces, slots, long_rows;
} amped_row_pieces_limits_cuda;
amped_row_pieces_limits_cuda amped_row_pieces_cuda_limits(const amped_plan *plan,
                                                          const amped_layout_cuda *layout, int mode,
                                                          uint64_t slot_bytes);

/* Cut mode's copy. bits: its row bits, of which bit 0 is set; rows: its row list, in
 * plan->index_type (packing.h). slot_bytes: bytes of a piece's sums. The caller frees *out; on
 * failure nothing is left to free. free accepts a zeroed object. */
amped_status amped_row_pieces_cuda_make(amped_row_pieces_cuda *out, const amped_plan *plan,
                                        const amped_layout_cuda *layout, int mode,
                                        const uint32_t *bits, const void *rows,
                                        uint64_t slot_bytes);
void amped_row_pieces_cuda_free(amped_row_pieces_cuda *pieces);

/* Find the rows of the block that have no nonzeros on any rank. empty_rows: one bit per row of the
 * block, zeroed; the bits of these rows are set. rows: the copy's row list, of row_count entries.
 * Returns the number of these rows. */
uint64_t amped_row_pieces_cuda_empty_rows(const amped_plan *plan, int mode, const void *rows,
                                          uint64_t row_count, uint32_t *empty_rows);

#ifdef __cplusplus
}
#endif

#endif
