/* Tiles: a mode's copy in parts, each with the nonzeros of one range of positions in one input. The
 * rows that a tile gathers from that input stay in a core's caches. Twin of
 * cuda/sorted/tile_choice_cuda.h.
 *
 * A tile is a packed copy of its own. Nonzeros keep their order in it. An output row may be in many
 * tiles. These are worked on one after another; or, where outputs are small and so tiles are short
 * work for many threads, side by side, each with an output of its own, and the outputs are added up
 * in the order of tiles. Functions are not collective. */
#ifndef AMPED_TILES_CPU_H
#define AMPED_TILES_CPU_H

#include "cpu/pack_cpu.h"

/* Each tile adds to a row once, in the values' type, so their number is part of the error of a sum
 * (mttkrp_cpu.h). */
#define AMPED_CPU_MOST_TILES 64

typedef struct amped_cpu_tiling {
  int count;      /* of tiles; 1: the copy stays whole */
  int input;      /* the input whose positions are cut into ranges */
  uint64_t width; /* positions of a range */
  bool apart;     /* each of several tiles has an output of its own */
} amped_cpu_tiling;

/* A pure function of the plan. */
amped_cpu_tiling amped_cpu_tiling_choose(const amped_plan *plan, int mode);

/* Bytes of the outputs of all tiles; 0 where they have none of their own. */
uint64_t amped_cpu_tiling_output_bytes(const amped_plan *plan, int mode);

/* Bytes of mode's copy when it is finished, and bytes that cutting it takes beside them for a
 * while: 0 where it stays whole. */
uint64_t amped_cpu_tiling_bytes(const amped_plan *plan, int mode);
uint64_t amped_cpu_cutting_bytes(const amped_plan *plan, int mode);

/* Cut a complete copy. *tiles, for the caller to free, becomes an array of tiling->count copies
 * whose arrays belong to `copy`, and the whole copy's are freed. AMPED_FAILED: memory is short. */
amped_status amped_cpu_tiles_cut(amped_cpu_copy *copy, const amped_plan *plan, int mode,
                                 const amped_cpu_tiling *tiling, int threads,
                                 amped_cpu_copy **tiles);

#endif
