/* Cuts a copy into thread blocks, and finds the blocks that share rows or must wait for each
 * other. */
#include "cuda/sorted/schedule_cuda.h"

#include <string.h>

/* Threads that a multiprocessor holds at a time (tuning in mttkrp_sorted.cuh). */
#define RESIDENT_THREADS 1024

/* Average uses of a row of its shared-memory tile by a full thread block, at least. Loading the
 * tile then costs little. */
#define SMEM_USES 16

/* Most memory for the outputs of small tiles. */
#define MOST_OUTPUT_BYTES (UINT64_C(96) << 20)

static uint64_t vectors_of(const amped_plan *plan) {
  return amped_plan_row_bytes(plan) / 16;
}

/* Returns the fewest lanes that hold a row, at most a warp. */
static unsigned lanes_for(uint64_t vectors) {
  return vectors <= 4 ? 4 : vectors <= 8 ? 8 : vectors <= 16 ? 16 : 32;
}

/* Returns the number of outputs for tiles of `tile` nonzeros: the tiles in `enough` nonzeros,
 * limited by their memory. */
static uint64_t outputs_for(const amped_plan *plan, int mode, uint64_t tile, uint64_t enough) {
  uint64_t bytes = plan->modes[mode].copy.output_rows * amped_plan_row_bytes(plan);
  uint64_t outputs = amped_ceil_div(enough, tile > 0 ? tile : 1);
  uint64_t most = bytes < MOST_OUTPUT_BYTES ? MOST_OUTPUT_BYTES / (bytes > 0 ? bytes : 1) : 1;
  return outputs < most ? outputs : most;
}

/* Cut a copy with shared-memory tiles. A thread block uses one tile, and its strips are long enough
 * to pay for loading it. */
static void cut_smem(amped_cut_cuda *cut, const amped_plan *plan, int mode,
                     const amped_tiles_cuda *tiles) {
  uint64_t groups = AMPED_SMEM_THREADS / cut->lanes;
  uint64_t least = amped_ceil_div(SMEM_USES * tiles->rows, groups);
  int smem_mode = amped_tiles_cuda_mode(mode, tiles->input);
  cut->smem_rows = (uint32_t)tiles->rows;
  cut->smem_positions = (uint32_t)plan->modes[smem_mode].rows.positions;
  cut->smem_shift = amped_tiles_cuda_far_bits(plan, mode, tiles->input);
  cut->strip = cut->strip > least ? cut->strip : least;
}

/* Choose the length of strips. The strips of a copy fill the GPU AMPED_WAVES times, the strips of a
 * tile half as often. When a block waits for blocks of the preceding tile, these have then
 * finished. If rows are sent in parts, strips are half as long, because a part waits for its last
 * blocks. */
void amped_schedule_cuda_shape(amped_cut_cuda *cut, const amped_plan *plan, int mode,
                               uint64_t segment, const amped_tiles_cuda *tiles,
                               int multiprocessors) {
  bool tiled = tiles->count > 1;
  uint64_t pack = plan->modes[mode].copy.packing.pack;
  uint64_t untiled = plan->modes[mode].rows.parts > 1 ? 2 * AMPED_WAVES : AMPED_WAVES;
  uint64_t waves = tiled ? AMPED_WAVES / 2 : untiled;
  cut->lanes = lanes_for(vectors_of(plan));
  uint64_t resident = (uint64_t)multiprocessors * RESIDENT_THREADS / cut->lanes;
  cut->smem_rows = 0;
  cut->smem_positions = 0;
  cut->smem_shift = 0;
  cut->strip = amped_ceil_div(segment, resident * waves);
  if (tiles->in_smem)
    cut_smem(cut, plan, mode, tiles);
  uint64_t strip = amped_ceil_div(cut->strip, pack) * pack;
  strip = strip < AMPED_LONGEST_STRIP ? strip : AMPED_LONGEST_STRIP;
  cut->strip = strip > pack ? strip : pack;
  cut->unit =
      cut->strip * ((tiles->in_smem ? AMPED_SMEM_THREADS : AMPED_BLOCK_THREADS) / cut->lanes);
  cut->columns = amped_ceil_div(vectors_of(plan), cut->lanes);
  cut->outputs = tiled && tiles->parts == 1
                     ? outputs_for(plan, mode, segment, resident * cut->strip * (AMPED_WAVES / 2))
                     : 1;
}

amped_schedule_memory_cuda amped_schedule_cuda_memory(const amped_plan *plan, int mode,
                                                      const amped_cut_cuda *cut, uint64_t blocks) {
  const uint64_t row_bytes = amped_plan_row_bytes(plan);
  const uint64_t outputs = cut->outputs > 1 ? cut->outputs : 0;
  return (amped_schedule_memory_cuda){
      .outputs = outputs * plan->modes[mode].copy.output_rows * row_bytes,
      .carries = blocks * row_bytes,
      .blocks = blocks * sizeof(amped_block_cuda),
      .flags = (2 * blocks * cut->columns + 1 + AMPED_MAX_PARTS) * sizeof(uint32_t)};
}

uint64_t amped_schedule_cuda_bytes(const amped_plan *plan, int mode, uint64_t segment,
                                   uint64_t segments, const amped_tiles_cuda *tiles,
                                   int multiprocessors) {
  amped_cut_cuda cut;
  uint64_t nnz = plan->modes[mode].copy.rank_nnz[plan->rank];
  amped_schedule_cuda_shape(&cut, plan, mode, segment, tiles, multiprocessors);
  amped_schedule_memory_cuda m =
      amped_schedule_cuda_memory(plan, mode, &cut, amped_ceil_div(nnz, cut.unit) + segments);
  return m.outputs + m.carries + m.blocks + m.flags;
}

amped_status amped_schedule_cuda_count(const amped_segment_cuda *segments, uint64_t count,
                                       uint64_t unit, uint64_t *blocks) {
  *blocks = 0;
  for (uint64_t i = 0; i < count; i++)
    *blocks += amped_ceil_div(segments[i].count, unit);
  if (*blocks > UINT32_MAX / 2)
    return amped_error(AMPED_FAILED, NULL,
                       "%" PRIu64 " thread blocks are too many for one GPU; use more of them",
                       *blocks);
  return AMPED_OK;
}

void amped_schedule_cuda_cut(const amped_segment_cuda *segments, uint64_t count, uint64_t unit,
                             amped_block_cuda *blocks) {
  uint64_t b = 0;
  uint32_t tile = 0;
  for (uint64_t i = 0; i < count; i++) {
    const amped_segment_cuda *s = &segments[i];
    if (s->new_tile && b > 0 && s->count > 0)
      tile++;
    for (uint64_t done = 0; done < s->count; done += unit, b++) {
      memset(&blocks[b], 0, sizeof blocks[b]);
      blocks[b].first = s->first + done;
      blocks[b].count = (uint32_t)(s->count - done < unit ? s->count - done : unit);
      blocks[b].tile = tile;
    }
  }
}

uint32_t amped_schedule_cuda_block(const amped_block_cuda *blocks, uint64_t count, uint64_t k) {
  uint64_t low = 0;
  uint64_t high = count;
  while (low < high) {
    uint64_t middle = (low + high) / 2;
    if (blocks[middle].first < k)
      low = middle + 1;
    else
      high = middle;
  }
  return (uint32_t)low;
}

void amped_schedule_cuda_parts(const amped_block_cuda *blocks, uint64_t count, const uint64_t *ends,
                               int parts, uint32_t *part_ends) {
  part_ends[parts - 1] = (uint32_t)count;
  for (int i = parts - 2; i >= 0; i--) {
    part_ends[i] = amped_schedule_cuda_block(blocks, count, ends[i]);
    if (part_ends[i] == 0)
      part_ends[i] = part_ends[i + 1];
  }
}

/* A row that continues in block b began in the block before. If that block, too, began inside this
 * row, both have the same predecessor. */
static void link_rows(amped_block_cuda *blocks, uint64_t count,
                      const amped_block_start_cuda *starts) {
  for (uint64_t b = 0; b < count; b++) {
    blocks[b].predecessor = (uint32_t)b;
    if (b == 0 || starts[b].begins)
      continue;
    bool whole = !starts[b - 1].begins && starts[b - 1].entry == starts[b].entry;
    blocks[b].predecessor = whole ? blocks[b - 1].predecessor : (uint32_t)(b - 1);
    blocks[blocks[b].predecessor].links++;
  }
}

/* Blocks begin .. end - 1. */
typedef struct range {
  uint64_t begin, end;
} range;

/* Returns the blocks from `first` on that belong to its tile. */
static range tile_at(const amped_block_cuda *blocks, uint64_t count, uint64_t first) {
  range tile = {first, first};
  while (tile.end < count && blocks[tile.end].tile == blocks[first].tile)
    tile.end++;
  return tile;
}

/* Returns the last block, from b on, of a tile whose first row is below `row`. The next block may
 * begin with this row, but the row itself may have begun in the returned block. */
static uint64_t last_below(const amped_block_start_cuda *starts, range tile, uint64_t b,
                           uint64_t row) {
  while (b + 1 < tile.end && starts[b + 1].row < row)
    b++;
  return b;
}

/* Returns the first block, from b on, of a tile whose first row is above `row`. */
static uint64_t first_above(const amped_block_start_cuda *starts, range tile, uint64_t b,
                            uint64_t row) {
  while (b < tile.end && starts[b].row <= row)
    b++;
  return b;
}

/* Find the blocks of the earlier tile that each block of a tile waits for. Rows ascend in both
 * tiles.
 *
 * Block b works on rows from its first row up to the first row of block b + 1, which may begin in
 * b. It waits for the earlier blocks that may hold one of these rows. The first block of the tile
 * also waits for all earlier blocks before these, and the last one for all after. The blocks of a
 * tile together therefore wait for the whole earlier tile, and through it for all tiles before. */
static void find_befores(amped_block_cuda *blocks, const amped_block_start_cuda *starts,
                         range earlier, range tile) {
  uint64_t low = earlier.begin;
  for (uint64_t b = tile.begin; b < tile.end; b++) {
    uint64_t high = earlier.end;
    if (b > tile.begin)
      low = last_below(starts, earlier, low, starts[b].row);
    if (b + 1 < tile.end)
      high = first_above(starts, earlier, low + 1, starts[b + 1].row);
    blocks[b].before = (uint32_t)low;
    blocks[b].befores = (uint32_t)(high - low);
  }
}

static bool begins_part(uint64_t block, const uint32_t *ends, int parts) {
  for (int i = 0; i + 1 < parts; i++)
    if (block == ends[i])
      return true;
  return false;
}

/* Link blocks. Tiles alternate between the outputs. A tile therefore waits for `earlier`, the tile
 * `outputs` tiles before it; the first tile of an output waits for none. */
void amped_schedule_cuda_link(amped_block_cuda *blocks, uint64_t count, uint64_t outputs,
                              const amped_block_start_cuda *starts, uint64_t shared,
                              const uint32_t *ends, int parts) {
  range tile = tile_at(blocks, count, 0);
  range earlier = tile;
  range last_shared = tile;
  link_rows(blocks, count, starts);
  for (; tile.begin < count; tile = tile_at(blocks, count, tile.end)) {
    if (tile.begin < shared)
      last_shared = tile;
    if (blocks[tile.begin].tile < outputs)
      continue;
    if (begins_part(tile.begin, ends, parts)) {
      if (shared > 0)
        find_befores(blocks, starts, last_shared, tile);
      earlier = tile;
    } else {
      find_befores(blocks, starts, earlier, tile);
      earlier = tile_at(blocks, count, earlier.end);
    }
  }
}
