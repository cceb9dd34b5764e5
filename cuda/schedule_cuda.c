#include "schedule_cuda.h"

#include <string.h>

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

/* A row that goes on in block b began in the block before, unless that one, too, began with it. */
static void link_rows(amped_block_cuda *blocks, uint64_t count,
                      const amped_block_start_cuda *starts) {
  for (uint64_t b = 0; b < count; b++) {
    blocks[b].chain = (uint32_t)b;
    if (b == 0 || starts[b].begins)
      continue;
    bool whole = !starts[b - 1].begins && starts[b - 1].entry == starts[b].entry;
    blocks[b].chain = whole ? blocks[b - 1].chain : (uint32_t)(b - 1);
    blocks[blocks[b].chain].links++;
  }
}

static uint64_t tile_end(const amped_block_cuda *blocks, uint64_t count, uint64_t first) {
  uint64_t end = first;
  while (end < count && blocks[end].tile == blocks[first].tile)
    end++;
  return end;
}

/* Every row of a tile counts to the last block that begins at or before it, the rows before its
 * first block to that one; so the ranges of a tile's blocks cover all rows, and who waits for the
 * tile before has waited for all earlier ones. */
static void find_befores(amped_block_cuda *blocks, const amped_block_start_cuda *starts,
                         uint64_t earlier, uint64_t first, uint64_t end) {
  uint64_t low = earlier;
  for (uint64_t b = first; b < end; b++) {
    while (b > first && low + 1 < first && starts[low + 1].row < starts[b].row)
      low++;
    uint64_t high = low + 1;
    while (high < first && (b + 1 == end || starts[high].row <= starts[b + 1].row))
      high++;
    blocks[b].before = (uint32_t)low;
    blocks[b].befores = (uint32_t)(high - low);
  }
}

void amped_schedule_cuda_link(amped_block_cuda *blocks, uint64_t count,
                              const amped_block_start_cuda *starts) {
  uint64_t earlier = 0;
  link_rows(blocks, count, starts);
  for (uint64_t first = 0; first < count;) {
    uint64_t end = tile_end(blocks, count, first);
    if (first > 0)
      find_befores(blocks, starts, earlier, first, end);
    earlier = first;
    first = end;
  }
}
