/* Tiles: the order of a copy's nonzeros by ranges of one input mode.
 *
 * A tile is a range of positions of an input mode, and the nonzeros with these positions. Gathers
 * from a factor larger than the L2 cache wait for device memory. If a tile's nonzeros are
 * consecutive, the tile's rows stay in the cache (docs/decisions/018-tiles-for-l2.md). Where the L2
 * cache holds all factors, thread blocks load small tiles to shared memory: shared-memory tiles
 * (019-shared-memory-tiles.md).
 *
 * The price: an output row comes once in every tile, and is read and written each time. No row is
 * finished before the last tile. So where rows travel in parts (plan.h) the last tiles are ordered
 * by part first. That loads these tiles once for each part: so they are only so many as hide the
 * time that rows travel (026-rows-in-parts.md).
 *
 * Pure functions of the plan; no CUDA in here. */
#ifndef AMPED_TILES_CUDA_H
#define AMPED_TILES_CUDA_H

#ifdef __cplusplus
extern "C" {
#endif

#include "backend/backend.h"

#define AMPED_MAX_TILES 1024

/* There are kernels for shared-memory tiles for so many inputs. */
#define AMPED_SMEM_INPUTS 3

typedef struct amped_tiles_cuda {
  uint64_t count; /* 1: ordered by output rows alone */
  int input;      /* number among the input modes */
  uint64_t rows;  /* positions of a tile */
  bool in_smem;   /* shared-memory tiles; of long rows they hold a warp's columns */
  /* Nonzeros are ordered by tile and row; in the last tiles, by part, tile and row. Every
   * second part has these tiles in descending order: so it begins with a tile that is still in the
   * cache. */
  uint64_t last;                      /* so many last tiles */
  int parts;                          /* parts of the rows: 1, or the plan's */
  uint64_t part_nnz[AMPED_MAX_PARTS]; /* nonzeros of the copy up to the end of each part */
} amped_tiles_cuda;

/* The mode that an input mode of that number is. */
static inline int amped_tiles_cuda_mode(int mode, int input) {
  return input < mode ? input : input + 1;
}

/* Bits that hold a position of any other input. A copy can have shared-memory tiles where a
 * position in the tile fits beside them in 32 bits. */
uint32_t amped_tiles_cuda_far_bits(const amped_plan *plan, int mode, int input);

/* A copy without tiles. */
amped_tiles_cuda amped_tiles_cuda_none(void);

/* A range is the nonzeros of a tile; of the last tiles, the nonzeros of a tile and a part. The
 * number of ranges of all parts (the first ones), and of all ranges. */
uint64_t amped_tiles_cuda_shared(const amped_tiles_cuda *tiles);
uint64_t amped_tiles_cuda_ranges(const amped_tiles_cuda *tiles);

/* Nonzeros of a tile, about, for which thread blocks are cut; half of it where there are parts, as
 * most ranges then are smaller. */
uint64_t amped_tiles_cuda_segment(const amped_tiles_cuda *tiles, uint64_t nnz);

/* Entries of the row list of a copy in tiles, at most; and the room for its nonzeros, with gaps: a
 * tile begins with a pack. */
uint64_t amped_tiles_cuda_list_rows(const amped_tiles_cuda *tiles, uint64_t nnz, uint64_t rows);
uint64_t amped_tiles_cuda_room(const amped_tiles_cuda *tiles, uint64_t nnz, uint64_t pack);

/* Device memory for sorting nnz nonzeros by tiles, about (reorder_cuda.h). */
uint64_t amped_tiles_cuda_sort_bytes(uint64_t nnz);

#ifdef __cplusplus
}
#endif

#endif
