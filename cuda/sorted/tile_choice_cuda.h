/* Tile choice: which copies are put in tiles, and what caches are asked to keep, as a cost model
 * says. Pure functions of the plan and of a GPU's caches; no CUDA in here. */
#ifndef AMPED_TILE_CHOICE_CUDA_H
#define AMPED_TILE_CHOICE_CUDA_H

#ifdef __cplusplus
extern "C" {
#endif

#include "cuda/device/caches_cuda.h"
#include "cuda/sorted/tiles_cuda.h"

/* What caches should do with the gathered rows of a factor. */
typedef enum amped_hint_cuda {
  AMPED_HINT_NONE,
  AMPED_HINT_EVICT_LAST,   /* they come again soon, and there is room for them, or for most */
  AMPED_HINT_EVICT_FIRST,  /* they do not: let them not displace others */
  AMPED_HINT_SHARED_MEMORY /* they lie in shared memory */
} amped_hint_cuda;

/* For mode's copy on this rank and a GPU with such caches. tile_bytes asks for tiles of so many
 * bytes, where that makes more than one; AMPED_TILES_AUTO: what a cost model says; AMPED_TILES_OFF:
 * none. */
#define AMPED_TILES_AUTO UINT64_C(0)
#define AMPED_TILES_OFF UINT64_MAX
void amped_tiles_cuda_choose(amped_tiles_cuda *tiles, const amped_plan *plan, int mode,
                             const amped_caches_cuda *caches, uint64_t tile_bytes);

/* For the gathers from every input factor of mode's copy, in such tiles. */
void amped_tiles_cuda_hint(amped_hint_cuda *hints, const amped_plan *plan, int mode,
                           const amped_tiles_cuda *tiles, uint64_t l2_bytes);

#ifdef __cplusplus
}
#endif

#endif
