/* Schedule: the thread blocks of MTTKRP over one copy. It lists the nonzeros of each block, the
 * blocks that share an output row, and the blocks that a block waits for.
 *
 * A copy lies in segments: the tiles by which its nonzeros are ordered, or the pieces in which it
 * is streamed. Rows ascend within a tile and repeat in the next tile. The sums of a tile are added
 * to the sums of earlier tiles, tile after tile. The order of additions is therefore always the
 * same (docs/decisions/020-order-of-additions.md).
 *
 * Pure functions in host memory, without CUDA. */
#ifndef AMPED_SCHEDULE_CUDA_H
#define AMPED_SCHEDULE_CUDA_H

#ifdef __cplusplus
extern "C" {
#endif

#include "cuda/sorted/tiles_cuda.h"

#define AMPED_BLOCK_THREADS 256  /* threads of a block */
#define AMPED_SMEM_THREADS 512   /* threads of a block with a shared-memory tile */
#define AMPED_WAVES 8            /* the strips of a copy fill the GPU at least this often */
#define AMPED_LONGEST_STRIP 4096 /* most nonzeros of a strip */

/* Sizes by which a mode's copy is cut for the kernel.
 *
 * Small tiles alternate between several outputs, which are added up at the end. With one output,
 * the blocks of such a tile would wait for the blocks of the preceding tile. If rows are sent in
 * parts (plan.h) there is one output, because parts end before all tiles do. */
typedef struct amped_cut_cuda {
  unsigned lanes;          /* lanes of a group, which share a factor row */
  uint64_t strip;          /* nonzeros per group: whole packs */
  uint64_t unit;           /* nonzeros per block */
  uint64_t columns;        /* thread blocks per block of the schedule, each for some columns */
  uint64_t outputs;        /* number of outputs, which tiles use in turn */
  uint32_t smem_rows;      /* rows of a shared-memory tile; 0: no such tiles */
  uint32_t smem_positions; /* rows of the factor that the tile is cut from */
  uint32_t smem_shift;     /* bits of a position of any other input */
} amped_cut_cuda;

/* Find the cut of a copy whose segments have about `segment` nonzeros: the copy, a piece or a
 * tile. */
void amped_schedule_cuda_shape(amped_cut_cuda *cut, const amped_plan *plan, int mode,
                               uint64_t segment, const amped_tiles_cuda *tiles,
                               int multiprocessors);

/* Consecutive nonzeros of a copy. The first one begins a pack of the packing. */
typedef struct amped_segment_cuda {
  uint64_t first;
  uint64_t count;
  bool new_tile; /* a tile begins; else the last row of the segment before may continue */
} amped_segment_cuda;

typedef struct amped_block_cuda {
  uint64_t first;       /* number in the copy of its first nonzero */
  uint32_t count;       /* nonzeros, at least 1 */
  uint32_t predecessor; /* the block in which its first row begins: itself or an earlier block */
  uint32_t links;  /* number of later blocks in which its last row continues; 0 if that row began in
                      an earlier block */
  uint32_t tile;   /* number of its tile */
  uint32_t before; /* first of the earlier blocks that it waits for */
  uint32_t befores; /* their number: they may work on the same rows of the same output */
} amped_block_cuda;

/* The row of a block's first nonzero, from row bits and row list. */
typedef struct amped_block_start_cuda {
  uint64_t entry; /* index in the row list */
  uint64_t row;
  uint64_t begins; /* 1 if the row begins with this nonzero, else 0 */
} amped_block_start_cuda;

/* Count the blocks of `unit` nonzeros; the last block of a segment may be shorter. Returns
 * AMPED_FAILED if there are too many. */
amped_status amped_schedule_cuda_count(const amped_segment_cuda *segments, uint64_t count,
                                       uint64_t unit, uint64_t *blocks);

/* Bytes of device memory for a number of blocks of mode's copy. */
typedef struct amped_schedule_memory_cuda {
  uint64_t outputs; /* outputs that tiles add to, if there are several */
  uint64_t carries; /* carry rows: sums of rows that began before a block */
  uint64_t blocks;
  uint64_t flags; /* signals between blocks that work is done */
} amped_schedule_memory_cuda;
amped_schedule_memory_cuda amped_schedule_cuda_memory(const amped_plan *plan, int mode,
                                                      const amped_cut_cuda *cut, uint64_t blocks);

/* Returns an upper bound of the sum of these bytes, for a copy of `segments` segments, the largest
 * of at least `segment` nonzeros. */
uint64_t amped_schedule_cuda_bytes(const amped_plan *plan, int mode, uint64_t segment,
                                   uint64_t segments, const amped_tiles_cuda *tiles,
                                   int multiprocessors);

/* Fill in first, count and tile of every block, and zero the other fields. */
void amped_schedule_cuda_cut(const amped_segment_cuda *segments, uint64_t count, uint64_t unit,
                             amped_block_cuda *blocks);

/* Returns the first block that begins at nonzero k of the copy or later. */
uint32_t amped_schedule_cuda_block(const amped_block_cuda *blocks, uint64_t count, uint64_t k);

/* part_ends[i] = the first block after part i, whose rows end before nonzero ends[i]; the last part
 * ends with the last block. A first part without blocks ends with the next part, so that waiting
 * for it implies that the output is zeroed. count is at least 1. */
void amped_schedule_cuda_parts(const amped_block_cuda *blocks, uint64_t count, const uint64_t *ends,
                               int parts, uint32_t *part_ends);

/* Fill in predecessors, links, before and befores. The tiles of the first `shared` blocks hold
 * nonzeros of all parts. Later blocks hold nonzeros of one part: part i + 1 begins with block
 * ends[i]. The first tile of a part shares no row with the part before: its blocks wait for the
 * last of the shared tiles. */
void amped_schedule_cuda_link(amped_block_cuda *blocks, uint64_t count, uint64_t outputs,
                              const amped_block_start_cuda *starts, uint64_t shared,
                              const uint32_t *ends, int parts);

#ifdef __cplusplus
}
#endif

#endif
