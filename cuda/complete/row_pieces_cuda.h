/* Row pieces: the rows of a copy, cut for row fits on a GPU.
 *
 * A piece is all nonzeros of a row, or consecutive ones of a long row, within one span of the
 * layout. A row is long where it has more nonzeros than a piece, crosses spans, or is shared with
 * other ranks. Each piece of a long row has a slot for its sums. A strip is some consecutive
 * pieces, about the same work each: a warp's. A run is some consecutive strips of one part of the
 * rows (plan.h) in one span.
 *
 * Pure functions in host memory; no CUDA in here. All OpenMP threads; their number changes nothing.
 */
#ifndef AMPED_ROW_PIECES_CUDA_H
#define AMPED_ROW_PIECES_CUDA_H

#ifdef __cplusplus
extern "C" {
#endif

#include "cuda/sorted/layout_cuda.h"

/* The slot of a piece that is a whole row. */
#define AMPED_NO_SLOT UINT32_MAX

typedef struct amped_row_piece_cuda {
  uint64_t first; /* nonzero of the copy */
  uint64_t row;   /* of the MTTKRP result */
  uint32_t count;
  uint32_t slot;
} amped_row_piece_cuda;

typedef struct amped_long_row_cuda {
  uint64_t row;
  uint32_t first; /* slot */
  uint32_t count; /* of slots */
} amped_long_row_cuda;

typedef struct amped_row_run_cuda {
  uint64_t first_strip, strips;
  uint64_t nonzero; /* a pack begins here, at most a pack before the run's first nonzero */
  int part;         /* the last one of which it has rows */
} amped_row_run_cuda;

typedef struct amped_row_pieces_cuda {
  uint64_t count;
  amped_row_piece_cuda *pieces;
  uint64_t strips;
  uint64_t *strip_ends; /* [strips] the piece behind each strip */
  uint64_t long_count;
  amped_long_row_cuda *long_rows;
  uint64_t part_long[AMPED_MAX_PARTS + 1]; /* long rows before each part; last, own long rows */
  uint32_t slots;
  uint64_t runs;
  amped_row_run_cuda *run;
} amped_row_pieces_cuda;

/* Nonzeros of a piece at most, where the sums of one take so many bytes. */
uint64_t amped_row_pieces_cuda_length(uint64_t nnz, uint64_t slot_bytes);

/* The most of each for mode's copy, of which `room` bytes are told by the three numbers. */
typedef struct amped_row_pieces_limits_cuda {
  uint64_t pieces, slots, long_rows;
} amped_row_pieces_limits_cuda;
amped_row_pieces_limits_cuda amped_row_pieces_cuda_limits(const amped_plan *plan,
                                                          const amped_layout_cuda *layout, int mode,
                                                          uint64_t slot_bytes);

/* Cut mode's copy, whose row bits and row list are given (packing.h): the list of plan->index_type;
 * bit 0 is set. free takes a zeroed object, too. */
amped_status amped_row_pieces_cuda_make(amped_row_pieces_cuda *out, const amped_plan *plan,
                                        const amped_layout_cuda *layout, int mode,
                                        const uint32_t *bits, const void *rows,
                                        uint64_t slot_bytes);
void amped_row_pieces_cuda_free(amped_row_pieces_cuda *pieces);

/* gaps: a bit a row of the block, zeros: set where a row has no nonzeros here or on other ranks.
 * The copy's row list has row_count entries. Returns the number of gaps. */
uint64_t amped_row_pieces_cuda_gaps(const amped_plan *plan, int mode, const void *rows,
                                    uint64_t row_count, uint32_t *gaps);

#ifdef __cplusplus
}
#endif

#endif
