/* Row state: the memory of a tensor part on a GPU for row fits. */
#ifndef AMPED_ROW_STATE_CUDA_H
#define AMPED_ROW_STATE_CUDA_H

#include "cuda/complete/row_pieces_cuda.h"
#include "cuda/load/tensor_part_cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

/* State of one copy. The number of pieces and strips, the runs and parts stay on the host. */
typedef struct amped_row_copy_cuda {
  amped_row_pieces_cuda host; /* its arrays of pieces, strips and long rows are freed */
  void *d_memory;             /* holds the arrays below */
  amped_row_piece_cuda *d_pieces;
  uint64_t *d_strip_ends;
  amped_long_row_cuda *d_long_rows;
  uint64_t *run_pieces;  /* [runs + 1] host: pieces before each run */
  uint64_t *run_first;   /* [runs] host: first nonzero of each run */
  uint64_t *shared_rows; /* [shared_count] host: the last long rows, which other ranks share */
  uint64_t shared_count;
  uint32_t *d_held;       /* one bit per nonzero: held out */
  uint32_t *d_empty_rows; /* one bit per row of the block: no nonzeros on any rank */
  uint64_t empty_count;
  void *d_weights; /* weights of all nonzeros, plan->value_type; NULL: all are 1 */
  uint8_t *d_failed;
} amped_row_copy_cuda;

/* Thread blocks that add up errors or moments. */
#define AMPED_ERROR_BLOCKS 1024

struct amped_row_fit_cuda {
  amped_row_copy_cuda copies[AMPED_MAX_ORDER];
  bool any_held;
  void *d_memory; /* holds the arrays below */
  double *d_slots;
  double *d_shared; /* equations of shared rows, allocated for the longest */
  double *d_put;    /* summed equations, to be solved */
  double *d_scratch;
  amped_row_fit_sums *d_sums;             /* [AMPED_FIT_BLOCKS], then [strips of any copy] */
  amped_row_fit_sums *d_result;           /* [2] sums of own rows, then of shared rows */
  amped_row_fit_sums *result;             /* [2] the same, pinned host memory */
  uint64_t *d_positions[AMPED_MAX_ORDER]; /* positions of shared rows in mode's factor */
  void *d_errors;                         /* [AMPED_ERROR_BLOCKS] sums */
  double *d_base;                         /* implicit: sums over all cells, [ncomps][ncomps] */
  double *d_empty;                        /* [ncomps + 1] row for rows without nonzeros */
  void *d_indices;                        /* file indices by position; NULL between uses */
  cudaEvent_t parts[AMPED_MAX_PARTS];

  amped_row_fit fit;           /* current fit */
  amped_row_fit_sums of_empty; /* contribution of a row without nonzeros to the sums */
  amped_row_fit_sums shared;   /* sums of shared rows, not reported yet */
};

#ifdef __cplusplus
}
#endif

#endif
