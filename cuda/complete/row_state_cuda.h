/* Row state: what a tensor part on a GPU keeps for row fits. */
#ifndef AMPED_ROW_STATE_CUDA_H
#define AMPED_ROW_STATE_CUDA_H

#include "cuda/complete/row_pieces_cuda.h"
#include "cuda/load/tensor_part_cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Of a copy. The number of pieces and strips, the runs and parts stay on the host. */
typedef struct amped_row_copy_cuda {
  amped_row_pieces_cuda host; /* its arrays of pieces, strips and long rows are freed */
  void *d_memory;             /* holds the arrays below */
  amped_row_piece_cuda *d_pieces;
  uint64_t *d_strip_ends;
  amped_long_row_cuda *d_long_rows;
  uint64_t *run_pieces;  /* [runs + 1] host: pieces before each run */
  uint64_t *run_first;   /* [runs] host: its first nonzero */
  uint64_t *shared_rows; /* [shared_count] host: the last long rows, which other ranks share */
  uint64_t shared_count;
  uint32_t *d_held; /* a bit a nonzero: it is held out */
  uint32_t *d_gaps; /* a bit a row of the block: it has no nonzeros on any rank */
  uint64_t gap_count;
  void *d_weights; /* of plan->value_type, of all nonzeros; NULL: all are 1 */
  uint8_t *d_failed;
} amped_row_copy_cuda;

/* Thread blocks that add up errors or moments. */
#define AMPED_ERROR_BLOCKS 1024

struct amped_row_fit_cuda {
  amped_row_copy_cuda copies[AMPED_MAX_ORDER];
  bool any_held;
  void *d_memory; /* holds the arrays below */
  double *d_slots;
  double *d_shared; /* equations of shared rows, as wide as those of prepare */
  double *d_put;    /* equations that are solved */
  double *d_scratch;
  amped_row_fit_sums *d_sums;             /* [AMPED_FIT_BLOCKS], then [strips of any copy] */
  amped_row_fit_sums *d_result;           /* two: of own rows, and of shared ones */
  amped_row_fit_sums *result;             /* the same, pinned */
  uint64_t *d_positions[AMPED_MAX_ORDER]; /* of shared rows, in mode's factor */
  void *d_errors;                         /* [AMPED_ERROR_BLOCKS] sums */
  double *d_base;                         /* of implicit fits: [ncomps][ncomps] */
  double *d_empty;                        /* [ncomps + 1] the row without nonzeros */
  void *d_indices;                        /* file indices by position; NULL between uses */
  cudaEvent_t parts[AMPED_MAX_PARTS];

  amped_row_fit fit;           /* in hand */
  amped_row_fit_sums of_empty; /* what a row without nonzeros adds to the sums */
  amped_row_fit_sums shared;   /* not told yet */
};

#ifdef __cplusplus
}
#endif

#endif
