/* Tiles: the order of a copy's nonzeros by ranges of one input mode.
 *
 * A tile is a range of positions of an input mode, and the nonzeros with these positions. Gathers
 * from a factor larger than the L2 cache wait for device memory. If a tile's nonzeros are
 * consecutive, the tile's rows stay in the cache (docs/decisions/018-tiles-for-l2.md). If the L2
 * cache holds all factors, thread blocks load small tiles to shared memory: shared-memory tiles
 * (019-shared-memory-tiles.md).
 *
 * The price: an output row occurs in every tile, and is read and written each time. No row is
 * finished before the last tile. If rows are sent in parts (plan.h), the last tiles are therefore
 * ordered by part first. These tiles are then loaded once for each part, so their number is the
 * least that hides the time of sending rows (026-rows-in-parts.md).
 *
 * Pure functions of the plan, without CUDA. */
#ifndef AMPED_TILES_CUDA_H
#define AMPED_TILES_CUDA_H

#ifdef __cplusplus
extern "C" {
#endif

#include "backend/backend.h"

#define AMPED_MAX_TILES 1024

/* Fewest and most inputs for which there are kernels with shared-memory tiles. */
#define AMPED_SMEM_LEAST_INPUTS 2
#define AMPED_SMEM_INPUTS 3

typedef struct amped_tiles_cuda {
  uint64_t count; /* 1: sorted by output rows alone */
  int input;      /* number among the input modes */
  uint64_t rows;  /* positions per tile */
  bool in_smem;   /* shared-memory tiles; if rows are long, they hold a warp's columns */
  /* Nonzeros are sorted by tile and row; in the last tiles, by part, tile and row. Every second
   * part has these tiles in descending order, so that it begins with a tile that is still in the
   * cache. */
  uint64_t last;                      /* number of last tiles */
  int parts;                          /* number of parts of the rows: 1, or the plan's */
  uint64_t part_nnz[AMPED_MAX_PARTS]; /* nonzeros of the copy up to the end of each part */
} amped_tiles_cuda;

/* Returns the mode of input number `input`. */
static inline int amped_tiles_cuda_mode(int mode, int input) {
  return input < mode ? input : input + 1;
}

/* Returns the bits that hold a position of any other input. A copy can have shared-memory tiles if
 * a position in the tile fits next to it in 32 bits. */
uint32_t amped_tiles_cuda_far_bits(const amped_plan *plan, int mode, int input);

/* Returns the tiles of a copy without tiles. */
amped_tiles_cuda amped_tiles_cuda_none(void);

/* Number of ranges that all parts share (the first ones), and of all ranges. A range is the
 * nonzeros of a tile; in the last tiles, the nonzeros of a tile and a part. */
uint64_t amped_tiles_cuda_shared(const amped_tiles_cuda *tiles);
uint64_t amped_tiles_cuda_ranges(const amped_tiles_cuda *tiles);

/* Returns the typical number of nonzeros of a range, for cutting thread blocks: nnz per tile; with
 * parts half of it, because most ranges are then smaller. */
uint64_t amped_tiles_cuda_segment(const amped_tiles_cuda *tiles, uint64_t nnz);

/* amped_tiles_cuda_list_rows: upper bound of the row list's entries. amped_tiles_cuda_room:
 * nonzeros to allocate, including the gaps before tiles, each of which begins with a pack. */
uint64_t amped_tiles_cuda_list_rows(const amped_tiles_cuda *tiles, uint64_t nnz, uint64_t rows);
uint64_t amped_tiles_cuda_room(const amped_tiles_cuda *tiles, uint64_t nnz, uint64_t pack);

/* Returns the approximate bytes of device memory for sorting nnz nonzeros by tiles
 * (reorder_cuda.h). */
uint64_t amped_tiles_cuda_sort_bytes(uint64_t nnz);

#ifdef __cplusplus
}
#endif

#endif
