/* Tiles: whether a copy's nonzeros are ordered by tiles of an input mode first, and what the L2
 * cache is asked to keep.
 *
 * Gathers from a factor larger than the L2 cache wait for device memory. Where all nonzeros whose
 * position in one input mode lies in one range, a tile, come together, that tile's rows stay in the
 * cache. Where all factors lie in the L2 cache, thread blocks take small tiles along to the shared
 * memory of their multiprocessor, shared-memory tiles. The price: every output row comes once a
 * tile, and is read and written each time; and no row is finished before the last tile. So where
 * rows travel in parts (plan.h) the last tiles are gone through part by part, which loads them once
 * a part: only as many as take the time that rows travel. Pure functions of the plan; no CUDA in
 * here.
 */
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
  bool in_smem;   /* which lies in shared memory: of long rows, as much as a warp works on */
  /* Nonzeros are ordered by tile and row, but those of the last tiles by part first: of so many
   * parts of the rows, 1 or the plan's, with so many nonzeros up to the end of each. Every other
   * part goes through these tiles backwards, and finds one in the cache. */
  uint64_t last;
  int parts;
  uint64_t part_nnz[AMPED_MAX_PARTS];
} amped_tiles_cuda;

/* The mode that an input mode of that number is. */
static inline int amped_tiles_cuda_mode(int mode, int input) {
  return input < mode ? input : input + 1;
}

/* Bits that hold a position of any input but that one: shared-memory tiles are chosen where one of
 * its own fits in 32 bits beside it. */
uint32_t amped_tiles_cuda_far_bits(const amped_plan *plan, int mode, int input);

/* A copy without tiles. */
amped_tiles_cuda amped_tiles_cuda_none(void);

/* Ranges of nonzeros, each of one tile and, in the last tiles, one part: those of all parts, and
 * all. */
uint64_t amped_tiles_cuda_shared(const amped_tiles_cuda *tiles);
uint64_t amped_tiles_cuda_ranges(const amped_tiles_cuda *tiles);

/* What thread blocks are cut for, of so many nonzeros: what a tile has about; half of it where
 * there are parts, of which most ranges are smaller. */
uint64_t amped_tiles_cuda_segment(const amped_tiles_cuda *tiles, uint64_t nnz);

/* Entries of the row list of a copy in tiles, at most; and room for its nonzeros: tiles begin where
 * a pack of the packing does. */
uint64_t amped_tiles_cuda_list_rows(const amped_tiles_cuda *tiles, uint64_t nnz, uint64_t rows);
uint64_t amped_tiles_cuda_room(const amped_tiles_cuda *tiles, uint64_t nnz, uint64_t pack);

/* Device memory that sorting nnz nonzeros by tiles takes, about (reorder_cuda.h). */
uint64_t amped_tiles_cuda_sort_bytes(uint64_t nnz);

#ifdef __cplusplus
}
#endif

#endif
