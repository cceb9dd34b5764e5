/* Chooses tiles and cache hints by a cost model. */
#include "cuda/sorted/tile_choice_cuda.h"

#include <math.h>

#include "cuda/sorted/schedule_cuda.h"
#include "plan/overlap.h"

/* Returns the part of the L2 cache that can hold gathered rows: each half of the cache keeps copies
 * of the other half's lines (docs/decisions/042-requests-not-bytes.md). */
static uint64_t cache_of(uint64_t l2_bytes) {
  return l2_bytes / 8 * 5;
}

/* Cost of reading and writing an output row in one more tile. The unit is the cost of a missed row.
 * The cost grows with the row's bytes. A missed row of up to 128 bytes costs about the same for any
 * length (docs/decisions/042-requests-not-bytes.md). */
#define TILE_SECTOR_COST 0.75 /* per 32 bytes of the row */
#define LEAST_ROW_COST 1.0
#define MOST_ROW_COST 3.0

/* A tile of half the cache stays in the cache. A tile that fills the cache loses this share of its
 * rows to other rows. */
#define FULL_TILE_LOSS 0.25

/* A copy gets tiles only if the gain is at least this share of all gathers. */
#define LEAST_GAIN 0.04

/* Shared-memory tiles. Two tiles, and the other shared memory of their two thread blocks, use 190
 * KiB of a multiprocessor's memory; the L1 cache has the rest. SMEM_ROW_BYTES is a warp's part of a
 * row. Tiles help if a multiprocessor uses a row of a tile SMEM_LEAST_USES times, and output rows
 * of a tile have SMEM_LEAST_LENGTH nonzeros (docs/decisions/018-tiles-for-l2.md). */
#define SMEM_TILE_BYTES (UINT64_C(48) << 10)
#define SMEM_OTHER_BYTES (UINT64_C(47) << 10)
#define SMEM_ROW_BYTES UINT64_C(512)
#define SMEM_LEAST_USES 8.0
#define SMEM_LEAST_LENGTH 32.0

/* Sizes of factors, in caches (docs/decisions/018-tiles-for-l2.md). */
#define SMALL_TABLE 0.1 /* up to this size a factor stays in the cache without a hint */
#define KEPT_TABLE 1.25 /* up to this size most rows stay with a hint */
#define LARGE_TABLE 4.0 /* from this size on only frequent rows stay */
#define HUGE_TABLE 8.0  /* from this size on hardly any row stays */

static double table_bytes(const amped_plan *plan, int mode, int input) {
  return (double)amped_plan_row_bytes(plan) *
         (double)plan->modes[amped_tiles_cuda_mode(mode, input)].rows.positions;
}

/* Returns the share of gathers from `bytes` of rows that miss the cache. */
static double missed(double bytes, double cache) {
  return bytes > cache ? 1.0 - cache / bytes : 0.0;
}

/* Returns the share of nnz gathers from a table that need a row for the first time. No cache helps
 * them. */
static double first_uses(double nnz, double positions) {
  return positions / nnz * -expm1(-nnz / positions);
}

static double all_tables(const amped_plan *plan, int mode) {
  double bytes = 0.0;
  for (int i = 0; i < plan->order - 1; i++)
    bytes += table_bytes(plan, mode, i);
  return bytes;
}

/* Returns the expected number of factor rows that one MTTKRP loads from device memory, if the
 * factors ("tables") share `room` bytes of the cache. The smallest table gets its part first,
 * because its rows are used most often. left_out: an input that is not counted, or -1. */
static double missed_rows(const amped_plan *plan, int mode, int left_out, double room) {
  const double nnz = (double)plan->modes[mode].copy.rank_nnz[plan->rank];
  bool taken[AMPED_MAX_ORDER] = {false};
  double sum = 0.0;
  for (int n = left_out < 0 ? 0 : 1; n < plan->order - 1; n++) {
    int least = -1;
    for (int i = 0; i < plan->order - 1; i++)
      if (i != left_out && !taken[i] &&
          (least < 0 || table_bytes(plan, mode, i) < table_bytes(plan, mode, least)))
        least = i;
    const double bytes = table_bytes(plan, mode, least);
    const double rows = bytes / (double)amped_plan_row_bytes(plan);
    sum += nnz * fmax(missed(bytes, room), first_uses(nnz, rows));
    room = fmax(room - bytes, 0.0);
    taken[least] = true;
  }
  return sum;
}

/* Returns the cost of an MTTKRP with these tiles, or without tiles, in missed rows. */
static double cost(const amped_tiles_cuda *t, const amped_plan *plan, int mode, double cache) {
  const amped_mode_plan *m = &plan->modes[mode];
  const bool tiled = t->count > 1;
  const double nnz = (double)m->copy.rank_nnz[plan->rank];
  const double rows = (double)amped_plan_copy_rows(plan, mode) * (double)t->count;
  const double bytes = (double)amped_plan_row_bytes(plan);
  const double tile = tiled ? bytes * (double)t->rows : 0.0;
  const double lost = tile > 0.5 * cache ? FULL_TILE_LOSS * (2.0 * tile / cache - 1.0) : 0.0;
  const double row_cost =
      fmin(fmax(TILE_SECTOR_COST * bytes / 32.0, LEAST_ROW_COST), MOST_ROW_COST);
  if (!tiled)
    return missed_rows(plan, mode, -1, cache);
  return missed_rows(plan, mode, t->input, fmax(cache - tile, 0.0)) + row_cost * fmin(rows, nnz) +
         nnz * fmax(missed(tile, cache) + lost,
                    first_uses(nnz, table_bytes(plan, mode, t->input) / bytes));
}

/* Returns the most bytes of a shared-memory tile; 0 if there are no kernels for such a plan. */
static uint64_t smem_bytes(const amped_plan *plan, const amped_caches_cuda *caches) {
  const int inputs = plan->order - 1;
  if (plan->index_type != AMPED_U32 || inputs < AMPED_SMEM_LEAST_INPUTS ||
      inputs > AMPED_SMEM_INPUTS || caches->shared_bytes < SMEM_OTHER_BYTES + SMEM_ROW_BYTES)
    return 0;
  return caches->shared_bytes - SMEM_OTHER_BYTES;
}

static void set_tiles(amped_tiles_cuda *t, const amped_plan *plan, int mode, int input,
                      uint64_t rows) {
  uint64_t positions = plan->modes[amped_tiles_cuda_mode(mode, input)].rows.positions;
  if (rows < amped_ceil_div(positions, AMPED_MAX_TILES))
    rows = amped_ceil_div(positions, AMPED_MAX_TILES);
  *t = amped_tiles_cuda_none();
  t->input = input;
  t->rows = rows > 0 ? rows : 1;
  t->count = amped_ceil_div(positions, t->rows);
  if (t->count > 1) /* tiles of equal size: the last tile is as large as the others */
    t->rows = amped_ceil_div(positions, t->count);
}

/* Choose the input whose shared-memory tiles are fewest, but more than one. */
static void set_smem(amped_tiles_cuda *best, const amped_plan *plan, int mode, uint64_t bytes) {
  uint64_t row =
      amped_plan_row_bytes(plan) < SMEM_ROW_BYTES ? amped_plan_row_bytes(plan) : SMEM_ROW_BYTES;
  for (int input = 0; input < plan->order - 1; input++) {
    amped_tiles_cuda t;
    uint32_t far = amped_tiles_cuda_far_bits(plan, mode, input);
    set_tiles(&t, plan, mode, input, bytes / row);
    t.in_smem = t.rows * row <= bytes && far < 32 && t.rows - 1 <= UINT32_MAX >> far;
    if (t.in_smem && t.count > 1 && (best->count == 1 || t.count < best->count))
      *best = t;
  }
}

/* Choose shared-memory tiles for a copy whose factors fit in the L2 cache, so that the cache's own
 * speed is the limit. These tiles help if every multiprocessor uses a tile's rows often enough, and
 * output rows are long. */
static void choose_smem(amped_tiles_cuda *best, const amped_plan *plan, int mode, uint64_t bytes,
                        double multiprocessors) {
  amped_tiles_cuda t = amped_tiles_cuda_none();
  double nnz = (double)plan->modes[mode].copy.rank_nnz[plan->rank];
  set_smem(&t, plan, mode, bytes < SMEM_TILE_BYTES ? bytes : SMEM_TILE_BYTES);
  double uses = nnz / (double)t.count / (double)t.rows / multiprocessors;
  double length = nnz / (double)t.count / (double)amped_plan_copy_rows(plan, mode);
  if (t.count > 1 && uses >= SMEM_LEAST_USES && length >= SMEM_LEAST_LENGTH)
    *best = t;
}

/* Make tiles of the size that the user wants: shared-memory tiles if possible, else tiles of the
 * largest input. */
static void ask(amped_tiles_cuda *t, const amped_plan *plan, int mode, uint64_t tile_bytes,
                bool in_smem) {
  int largest = 0;
  if (in_smem)
    set_smem(t, plan, mode, tile_bytes);
  if (t->in_smem)
    return;
  for (int i = 1; i < plan->order - 1; i++)
    if (plan->modes[amped_tiles_cuda_mode(mode, i)].rows.positions >
        plan->modes[amped_tiles_cuda_mode(mode, largest)].rows.positions)
      largest = i;
  set_tiles(t, plan, mode, largest, tile_bytes / amped_plan_row_bytes(plan));
}

static void choose_large(amped_tiles_cuda *best, const amped_plan *plan, int mode, double cache) {
  static const double sizes[] = {0.25, 0.5, 0.75, 1.0}; /* in caches */
  double least =
      cost(best, plan, mode, cache) -
      LEAST_GAIN * (double)plan->modes[mode].copy.rank_nnz[plan->rank] * (plan->order - 1);
  for (int input = 0; input < plan->order - 1; input++)
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
      amped_tiles_cuda t;
      set_tiles(&t, plan, mode, input, (uint64_t)(sizes[i] * cache) / amped_plan_row_bytes(plan));
      double value = cost(&t, plan, mode, cache);
      if (t.count > 1 && value < least) {
        least = value;
        *best = t;
      }
    }
}

/* Returns the number of last tiles that together have this share of all ranks' nonzeros, at least
 * 1. Nonzeros are counted, because tiles differ: frequent rows come first in every rank's block.
 * This rank's nonzeros divide among tiles about as all ranks' nonzeros do. */
static uint64_t tiles_with(const amped_tiles_cuda *t, const amped_plan *plan, int mode,
                           double share) {
  const amped_mode_plan *input = &plan->modes[amped_tiles_cuda_mode(mode, t->input)];
  double wanted = share * (double)plan->nnz;
  uint64_t nnz[AMPED_MAX_TILES] = {0};
  for (uint64_t i = 0; i < input->rows.idp_count; i++)
    nnz[input->rows.position[i] / t->rows] += input->copy.idp_nnz[i];
  uint64_t last = 1;
  double sum = (double)nnz[t->count - 1];
  while (last < t->count && sum < wanted)
    sum += (double)nnz[t->count - ++last];
  return last;
}

/* Order the last tiles by part. Their number is chosen so that a part is sent while kernels work on
 * the next part, which is AMPED_PART_RATIO of it. If several outputs are added up at the end, no
 * part of the rows is finished before, and tiles stay as they are. */
static void part_last(amped_tiles_cuda *t, const amped_plan *plan, int mode, int multiprocessors) {
  const amped_mode_plan *m = &plan->modes[mode];
  amped_cut_cuda cut;
  amped_tiles_cuda parted = *t;
  parted.last = tiles_with(t, plan, mode, m->copy.travel / AMPED_PART_RATIO);
  parted.parts = m->rows.parts;
  for (int part = 0; part < m->rows.parts; part++)
    parted.part_nnz[part] = amped_plan_part_nnz(plan, mode, part);
  uint64_t segment = amped_tiles_cuda_segment(&parted, m->copy.rank_nnz[plan->rank]);
  amped_schedule_cuda_shape(&cut, plan, mode, segment, t, multiprocessors);
  if (cut.outputs == 1)
    *t = parted;
}

void amped_tiles_cuda_choose(amped_tiles_cuda *tiles, const amped_plan *plan, int mode,
                             const amped_caches_cuda *caches, uint64_t tile_bytes) {
  double cache = (double)cache_of(caches->l2_bytes);
  uint64_t smem_room = all_tables(plan, mode) <= cache ? smem_bytes(plan, caches) : 0;
  *tiles = amped_tiles_cuda_none();
  if (tile_bytes == AMPED_TILES_OFF || plan->whole_rows ||
      plan->modes[mode].copy.rank_nnz[plan->rank] == 0)
    return;
  if (tile_bytes != AMPED_TILES_AUTO)
    ask(tiles, plan, mode, tile_bytes, tile_bytes <= smem_room);
  else if (smem_room > 0)
    choose_smem(tiles, plan, mode, smem_room, caches->multiprocessors);
  else
    choose_large(tiles, plan, mode, cache);
  if (tiles->count > 1 && plan->modes[mode].rows.parts > 1)
    part_last(tiles, plan, mode, caches->multiprocessors);
}

/* True if hints help a copy without tiles: one factor can be kept, and another is so large that
 * hardly any of its rows stay. If factors nearly fit together, the cache is better without hints.
 * Small factors stay in the cache anyway. */
static bool worth_hints(const amped_plan *plan, int mode, double cache) {
  bool some_kept = false;
  bool some_huge = false;
  for (int i = 0; i < plan->order - 1; i++) {
    double bytes = table_bytes(plan, mode, i);
    some_kept |= bytes > SMALL_TABLE * cache && bytes <= KEPT_TABLE * cache;
    some_huge |= bytes > HUGE_TABLE * cache;
  }
  return some_kept && some_huge;
}

void amped_tiles_cuda_hint(amped_hint_cuda *hints, const amped_plan *plan, int mode,
                           const amped_tiles_cuda *tiles, uint64_t l2_bytes) {
  double cache = (double)cache_of(l2_bytes);
  bool hint = tiles->count > 1 || worth_hints(plan, mode, cache);
  for (int i = 0; i < plan->order - 1; i++) {
    double bytes = table_bytes(plan, mode, i);
    bool tiled = tiles->count > 1 && tiles->input == i;
    hints[i] = AMPED_HINT_NONE;
    if (tiles->in_smem)
      hints[i] = tiled ? AMPED_HINT_SHARED_MEMORY : AMPED_HINT_NONE;
    else if (hint && (tiled || bytes <= KEPT_TABLE * cache))
      hints[i] = AMPED_HINT_EVICT_LAST;
    else if (hint && bytes > LARGE_TABLE * cache)
      hints[i] = AMPED_HINT_EVICT_FIRST;
  }
}
