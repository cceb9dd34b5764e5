/* Schedule: the thread blocks of MTTKRP over one copy. It says which nonzeros a block works on,
 * which blocks share an output row, and which blocks a block waits for.
 *
 * A copy lies in segments: the tiles that its nonzeros are ordered by, or the pieces that it is
 * streamed in. Rows ascend within a tile and come again in the next tile. The sums of a tile are
 * added to the sums of earlier tiles, tile after tile. So the order of additions is always the same
 * (docs/decisions/020-order-of-additions.md).
 *
 * Pure functions in host memory; no CUDA in here. */
#ifndef AMPED_SCHEDULE_CUDA_H
#define AMPED_SCHEDULE_CUDA_H

#ifdef __cplusplus
extern "C" {
#endif

#include "cuda/sorted/tiles_cuda.h"

#define AMPED_BLOCK_THREADS 256  /* threads of a block */
#define AMPED_SMEM_THREADS 512   /* of a block with a shared-memory tile */
#define AMPED_WAVES 8            /* the strips of a copy fill the GPU so many times, at least */
#define AMPED_LONGEST_STRIP 4096 /* nonzeros of a strip at most */

/* How a mode's copy is cut for the kernel.
 *
 * Small tiles take turns at several outputs, which are added up at the end. With one output, the
 * blocks of such a tile would wait for the blocks of the tile before. Where rows travel in parts
 * (plan.h) there is one output: parts end before all tiles do. */
typedef struct amped_cut_cuda {
  unsigned lanes;          /* of a group, which share a factor row */
  uint64_t strip;          /* nonzeros of a group: whole packs */
  uint64_t unit;           /* nonzeros of a block */
  uint64_t columns;        /* thread blocks for a block of the schedule, each on some columns */
  uint64_t outputs;        /* that tiles add to in turn */
  uint32_t smem_rows;      /* of a shared-memory tile; 0 without */
  uint32_t smem_positions; /* rows of the factor that this tile is of */
  uint32_t smem_shift;     /* bits that hold a position of any other input */
} amped_cut_cuda;

/* The cut of a copy whose segments have about `segment` nonzeros: the copy, a piece or a tile. */
void amped_schedule_cuda_shape(amped_cut_cuda *cut, const amped_plan *plan, int mode,
                               uint64_t segment, const amped_tiles_cuda *tiles,
                               int multiprocessors);

/* Some of a copy's nonzeros. A pack of the packing begins with the first. */
typedef struct amped_segment_cuda {
  uint64_t first;
  uint64_t count;
  bool new_tile; /* a tile begins; else the last row of the segment before may go on */
} amped_segment_cuda;

typedef struct amped_block_cuda {
  uint64_t first;       /* number of its first nonzero in the copy */
  uint32_t count;       /* nonzeros, at least 1 */
  uint32_t predecessor; /* the block in which its first row begins: itself or an earlier block */
  uint32_t links;       /* later blocks in which its last row goes on, if that row begins here */
  uint32_t tile;        /* number of its tile */
  uint32_t before;      /* first of the earlier blocks that it waits for */
  uint32_t befores;     /* so many: they may work on the same rows of the same output */
} amped_block_cuda;

/* The row of a block's first nonzero, as row bits and row list tell it. */
typedef struct amped_block_start_cuda {
  uint64_t entry; /* of the row list */
  uint64_t row;
  uint64_t begins; /* 1 where the row begins with this nonzero, else 0 */
} amped_block_start_cuda;

/* The number of blocks of `unit` nonzeros; the last block of a segment may be shorter. AMPED_FAILED
 * where there are too many. */
amped_status amped_schedule_cuda_count(const amped_segment_cuda *segments, uint64_t count,
                                       uint64_t unit, uint64_t *blocks);

/* Bytes of device memory for so many blocks of mode's copy. */
typedef struct amped_schedule_memory_cuda {
  uint64_t outputs; /* that tiles add to, where there are several */
  uint64_t carries; /* carry rows: sums of rows that began before a block */
  uint64_t blocks;
  uint64_t flags; /* by which blocks tell one another what is done */
} amped_schedule_memory_cuda;
amped_schedule_memory_cuda amped_schedule_cuda_memory(const amped_plan *plan, int mode,
                                                      const amped_cut_cuda *cut, uint64_t blocks);

/* The sum of these at most, for a copy of so many segments, the largest of at least `segment`
 * nonzeros. */
uint64_t amped_schedule_cuda_bytes(const amped_plan *plan, int mode, uint64_t segment,
                                   uint64_t segments, const amped_tiles_cuda *tiles,
                                   int multiprocessors);

/* Fill in first, count and tile of every block, and zero the other fields. */
void amped_schedule_cuda_cut(const amped_segment_cuda *segments, uint64_t count, uint64_t unit,
                             amped_block_cuda *blocks);

/* The first block that begins at nonzero k of the copy or behind it. */
uint32_t amped_schedule_cuda_block(const amped_block_cuda *blocks, uint64_t count, uint64_t k);

/* part_ends[i] = the first block behind part i, whose rows end before nonzero ends[i]; the last
 * part ends with the last block. A first part without blocks ends with the next part: who has
 * waited for it then knows that the output is zeroed. There is at least one block. */
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
