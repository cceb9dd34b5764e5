/* Schedule: the thread blocks of MTTKRP over one copy: which nonzeros each works on, which of them
 * share an output row, and which must be done before others.
 *
 * A copy lies in segments: the tiles that its nonzeros are ordered by, or the pieces that it is
 * streamed in. Rows ascend within a tile and come again in the next one. Where they come again,
 * sums are added to what earlier tiles left, tile after tile, so that the order of additions is
 * always the same. Pure functions in host memory; no CUDA in here. */
#ifndef AMPED_SCHEDULE_CUDA_H
#define AMPED_SCHEDULE_CUDA_H

#ifdef __cplusplus
extern "C" {
#endif

#include "cuda/sorted/tiles_cuda.h"

/* Threads of a block, and of one that shares a shared-memory tile; times that the strips of a copy
 * should fill the GPU, at least; nonzeros of a strip at most. */
#define AMPED_BLOCK_THREADS 256
#define AMPED_SMEM_THREADS 512
#define AMPED_WAVES 8
#define AMPED_LONGEST_STRIP 4096

/* How a mode's copy is cut for the kernel: the lanes of a group, which share a factor row; the
 * nonzeros of a group (a multiple of the packing's strip) and of a block; the thread blocks that
 * share the work on a block of the schedule, each on some columns; the outputs that tiles add to in
 * turn, which are added up at the end: several where tiles are so small that their blocks would
 * wait for those of the tile before, but for parts of the rows, which end before. Rows of a near
 * tile, 0 without, and of its factor; the bits of any other input's position. */
typedef struct amped_cut_cuda {
  unsigned lanes;
  uint64_t strip;
  uint64_t unit;
  uint64_t columns;
  uint64_t outputs;
  uint32_t smem_rows;
  uint32_t smem_positions;
  uint32_t smem_shift;
} amped_cut_cuda;

/* For a copy of which most is in segments of so many nonzeros: all of them, a piece, a tile. */
void amped_schedule_cuda_shape(amped_cut_cuda *cut, const amped_plan *plan, int mode,
                               uint64_t segment, const amped_tiles_cuda *tiles,
                               int multiprocessors);

/* Some of a copy's nonzeros. `first` is a multiple of the packing's strip. */
typedef struct amped_segment_cuda {
  uint64_t first;
  uint64_t count;
  bool new_tile; /* rows begin anew here; else the last row of the segment before may go on */
} amped_segment_cuda;

typedef struct amped_block_cuda {
  uint64_t first;       /* number of its first nonzero in the copy */
  uint32_t count;       /* nonzeros, at least 1 */
  uint32_t predecessor; /* the block in which its first row begins: itself or an earlier one */
  uint32_t links;       /* later blocks that its last row goes on in, where that row begins here */
  uint32_t tile;        /* number of its tile */
  /* Blocks of the tile before of the same output, or the last one of all parts, that may work on
   * the same rows. */
  uint32_t before;
  uint32_t befores;
} amped_block_cuda;

/* What the row bits and lists say of a block's first nonzero. */
typedef struct amped_block_start_cuda {
  uint64_t entry; /* of the row list */
  uint64_t row;
  uint64_t begins; /* 1 where its row begins here, else 0 */
} amped_block_start_cuda;

/* Blocks of `unit` nonzeros, the last of a segment shorter. AMPED_FAILED where there are too many.
 */
amped_status amped_schedule_cuda_count(const amped_segment_cuda *segments, uint64_t count,
                                       uint64_t unit, uint64_t *blocks);

/* Bytes of device memory for so many blocks of mode's copy: the outputs of tiles, what blocks leave
 * of rows that began before them, the blocks, what they tell one another. */
typedef struct amped_schedule_memory_cuda {
  uint64_t outputs, carries, blocks, flags;
} amped_schedule_memory_cuda;
amped_schedule_memory_cuda amped_schedule_cuda_memory(const amped_plan *plan, int mode,
                                                      const amped_cut_cuda *cut, uint64_t blocks);

/* All of it at most, for a copy in so many segments, of which the largest has `segment` nonzeros or
 * more. */
uint64_t amped_schedule_cuda_bytes(const amped_plan *plan, int mode, uint64_t segment,
                                   uint64_t segments, const amped_tiles_cuda *tiles,
                                   int multiprocessors);

/* Fill in first, count and tile of every block; the rest is zero. */
void amped_schedule_cuda_cut(const amped_segment_cuda *segments, uint64_t count, uint64_t unit,
                             amped_block_cuda *blocks);

/* The first block whose nonzeros come at or behind nonzero k of the copy. */
uint32_t amped_schedule_cuda_block(const amped_block_cuda *blocks, uint64_t count, uint64_t k);

/* part_ends[i] = the first block behind part i, of whose rows the nonzeros before ends[i] are the
 * last; all blocks for the last part. The first part has a block: one that would have none ends
 * with the next, so that whoever has waited for it knows that the output is zeroed. There is a
 * block. */
void amped_schedule_cuda_parts(const amped_block_cuda *blocks, uint64_t count, const uint64_t *ends,
                               int parts, uint32_t *part_ends);

/* Fill in predecessors, links and befores. Blocks from ends[i] on, i < parts - 1, work on other
 * rows than those before, but for the first `shared`, whose tiles are of all parts: they wait for
 * the last such tile. */
void amped_schedule_cuda_link(amped_block_cuda *blocks, uint64_t count, uint64_t outputs,
                              const amped_block_start_cuda *starts, uint64_t shared,
                              const uint32_t *ends, int parts);

#ifdef __cplusplus
}
#endif

#endif
