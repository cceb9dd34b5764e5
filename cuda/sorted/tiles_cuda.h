/* Tiles: whether a copy's nonzeros are ordered by tiles of an input mode first, and what the L2
 * cache is asked to keep.
 *
 * Gathers from a factor larger than the L2 cache wait for device memory. Where all nonzeros whose
 * position in one input mode lies in one range, a tile, come together, that tile's rows stay in the
 * cache. Where all factors lie in the L2 cache, thread blocks take small tiles along to the shared
 * memory of their multiprocessor, near tiles. The price: every output row comes once a tile, and is
 * read and written each time; and no row is finished before the last tile. So where rows travel in
 * parts (plan.h) the last tiles are gone through part by part, which loads them once a part: only
 * as many as take the time that rows travel. Pure functions of the plan; no CUDA in here.
 */
#ifndef AMPED_TILES_CUDA_H
#define AMPED_TILES_CUDA_H

#ifdef __cplusplus
extern "C" {
#endif

#include "backend/backend.h"

#define AMPED_MAX_TILES 1024

/* There are kernels for near tiles for so many inputs. */
#define AMPED_NEAR_INPUTS 3

/* What caches should do with the gathered rows of a factor. */
typedef enum amped_hint_cuda {
  AMPED_HINT_NONE,
  AMPED_HINT_KEEP, /* they come again soon, and there is room for them, or for most */
  AMPED_HINT_PASS, /* they do not: let them not displace others */
  AMPED_HINT_NEAR  /* they lie in shared memory */
} amped_hint_cuda;

/* Of the GPU. shared_bytes: what a thread block can have. */
typedef struct amped_caches_cuda {
  int multiprocessors;
  uint64_t l2_bytes;
  uint64_t shared_bytes;
} amped_caches_cuda;

typedef struct amped_tiles_cuda {
  uint64_t count; /* 1: ordered by output rows alone */
  int input;      /* number among the input modes */
  uint64_t rows;  /* positions of a tile */
  bool near;      /* which lies in shared memory: of long rows, as much as a warp works on */
  /* Nonzeros are ordered by tile and row, but those of the last tiles by part first: of so many
   * parts of the rows, 1 or the plan's, with so many nonzeros up to the end of each. Every other
   * part goes through these tiles backwards, and finds one in the cache. */
  uint64_t last;
  int parts;
  uint64_t part_nnz[AMPED_MAX_PARTS];
} amped_tiles_cuda;

/* For mode's copy on this rank and a GPU with such caches. tile_bytes asks for tiles of so many
 * bytes, where that makes more than one; AMPED_TILES_AUTO: what a cost model says; AMPED_TILES_OFF:
 * none. */
#define AMPED_TILES_AUTO UINT64_C(0)
#define AMPED_TILES_OFF UINT64_MAX
void amped_tiles_cuda_choose(amped_tiles_cuda *tiles, const amped_plan *plan, int mode,
                             const amped_caches_cuda *caches, uint64_t tile_bytes);

/* The mode that an input mode of that number is. */
static inline int amped_tiles_cuda_mode(int mode, int input) {
  return input < mode ? input : input + 1;
}

/* Bits that hold a position of any input but that one: near tiles are chosen where one of its own
 * fits in 32 bits beside it. */
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

/* For the gathers from every input factor of mode's copy, in such tiles. */
void amped_tiles_cuda_hint(amped_hint_cuda *hints, const amped_plan *plan, int mode,
                           const amped_tiles_cuda *tiles, uint64_t l2_bytes);

/* Entries of the row list of a copy in tiles, at most; and room for its nonzeros: tiles begin where
 * a run of the packing does. */
uint64_t amped_tiles_cuda_list_rows(const amped_tiles_cuda *tiles, uint64_t nnz, uint64_t rows);
uint64_t amped_tiles_cuda_room(const amped_tiles_cuda *tiles, uint64_t nnz, uint64_t run);

/* Device memory that sorting nnz nonzeros by tiles takes, about (reorder_cuda.h). */
uint64_t amped_tiles_cuda_sort_bytes(uint64_t nnz);

#ifdef __cplusplus
}
#endif

#endif
