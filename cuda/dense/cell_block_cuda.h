/* Cell block: cells in device memory in a plan's layout, either a slab or any block of one. Its
 * functions make contractions T of the cells (dense_plan.h), and rows of MTTKRP from T. Twin of
 * src/cpu/dense/slab_cpu.h. All memory is borrowed. Nothing waits. */
#ifndef AMPED_CELL_BLOCK_CUDA_H
#define AMPED_CELL_BLOCK_CUDA_H

#include "cuda/dense/contract_cuda.h"
#include "cuda/dense/factor_rows_cuda.h"
#include "cuda/dense/rows_cuda.h"
#include "cuda/device/rank_device_cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

#include "plan/dense_kept.h"

typedef struct amped_cell_block_cuda {
  const amped_device *device;
  const amped_plan *plan;        /* components and types */
  const amped_dense_plan *dense; /* dimensions of these cells, layout and tree */
  const void *d_cells;           /* slowest mode first */
  const void
      *d_rows[AMPED_MAX_ORDER]; /* rows of each mode's factor, ordered as the cells' indices */
  void *d_t;                    /* memory of the largest T */
} amped_cell_block_cuda;

/* Workspace of contractions, and of rows from them. Device memory. */
typedef struct amped_cell_room_cuda {
  double *d_sums;  /* partial sums */
  void *d_operand; /* rows of factors, multiplied for a contraction */
  void *d_split;   /* the operand split for tensor cores */
} amped_cell_room_cuda;

/* Bytes of the workspace: enough for all contractions of the tree, and for rows from them. A block
 * with other dimensions may need more for sums. */
typedef struct amped_cell_room_bytes_cuda {
  uint64_t sums, operand, split;
} amped_cell_room_bytes_cuda;

amped_cell_room_bytes_cuda amped_cell_block_cuda_room(const amped_device *device,
                                                      const amped_plan *plan,
                                                      const amped_dense_plan *dense);

/* T = the contraction of modes layout[from] .. layout[end - 1]. */
amped_status amped_cell_block_cuda_contract(const amped_cell_block_cuda *block, int from, int end,
                                            const amped_cell_room_cuda *room);

/* Make rows of the mode layout[place] from T, which contract made with the same `from` and `end`.
 */
amped_status amped_cell_block_cuda_rows(const amped_cell_block_cuda *block, int from, int end,
                                        int place, const amped_cell_room_cuda *room, void *d_out);

/* Steps of a contraction, for callers that contract a slab piece by piece. of: the arguments of a
 * contraction of `rows` indices of the slowest mode, with memory not set. operand: its operand.
 * operand_rows: the number of the operand's rows that are made at a time, padded. */
amped_contract_cuda_args amped_contraction_cuda_of(const amped_device *device,
                                                   const amped_plan *plan,
                                                   const amped_dense_plan *dense, uint64_t rows,
                                                   int from, int end);
amped_factor_rows_cuda amped_contraction_cuda_operand(const amped_plan *plan,
                                                      const amped_dense_plan *dense,
                                                      const void *const *d_rows, int from, int end);
uint64_t amped_contraction_cuda_operand_rows(uint64_t mid);

#ifdef __cplusplus
}
#endif

#endif
