/* Tiles: choice of tiles, and cutting a packed copy into them. */
#include "cpu/sorted/tiles_cpu.h"

#include "base/mem.h"
#include "base/cpu_dispatch.h"

/* A tile pays if its rows are gathered at least LEAST_GATHERS times, and if an output row, whose
 * sum is added once per tile, has at least LEAST_OF_ROW nonzeros in it. */
#define LEAST_GATHERS 4
#define LEAST_OF_ROW 16

/* Outputs of all tiles that fit in this many bytes stay in caches, too. */
#define APART_BYTES (UINT64_C(4) << 20)

/* Nonzeros that are assigned to tiles together. */
#define CHUNK 65536

/* A tile's arrays begin at a multiple of this: at whole packs of any packing. */
#define ROUND AMPED_LONG_PACK

amped_cpu_tiling amped_cpu_tiling_choose(const amped_plan *plan, int mode) {
  const amped_cpu_tiling whole = {.count = 1, .input = 0, .width = 0, .apart = false};
  const amped_mode_plan *m = &plan->modes[mode];
  const uint64_t nnz = m->copy.rank_nnz[plan->rank];
  amped_cpu_tiling t = whole;
  if (plan->whole_rows)
    return whole;
  uint64_t rows = 1; /* rows of the largest input */
  for (int a = 0, input = 0; a < plan->order; a++)
    if (a != mode) {
      uint64_t n = amped_plan_factor_rows(plan, a);
      t.input = n > rows ? input : t.input;
      rows = n > rows ? n : rows;
      input++;
    }
  uint64_t fit = AMPED_CACHED_BYTES / amped_plan_row_bytes(plan);
  uint64_t least = amped_ceil_div(rows, AMPED_CPU_MOST_TILES);
  uint64_t count = amped_ceil_div(rows, fit > least ? fit : least);
  t.width = amped_ceil_div(rows, count);
  t.count = (int)amped_ceil_div(rows, t.width);
  uint64_t row_parts = m->copy.output_rows * (uint64_t)t.count;
  t.apart = row_parts * amped_plan_row_bytes(plan) <= APART_BYTES;
  return t.count > 1 && nnz / LEAST_GATHERS >= rows && nnz / LEAST_OF_ROW >= row_parts ? t : whole;
}

/* Nonzeros that the arrays of all tiles can hold. */
static uint64_t room(uint64_t nnz, const amped_cpu_tiling *t) {
  return nnz + (uint64_t)t->count * ROUND;
}

static uint64_t room_rows(const amped_plan *plan, int mode, const amped_cpu_tiling *t) {
  return amped_plan_copy_rows(plan, mode) * (uint64_t)t->count;
}

uint64_t amped_cpu_tiling_output_bytes(const amped_plan *plan, int mode) {
  const amped_cpu_tiling t = amped_cpu_tiling_choose(plan, mode);
  if (!t.apart)
    return 0;
  return (uint64_t)t.count * plan->modes[mode].copy.output_rows * amped_plan_row_bytes(plan);
}

uint64_t amped_cpu_tiling_bytes(const amped_plan *plan, int mode) {
  const amped_cpu_tiling t = amped_cpu_tiling_choose(plan, mode);
  const uint64_t nnz = plan->modes[mode].copy.rank_nnz[plan->rank];
  if (t.count == 1)
    return amped_cpu_copy_bytes(plan, mode, nnz, amped_plan_copy_rows(plan, mode));
  return amped_cpu_copy_bytes(plan, mode, room(nnz, &t), room_rows(plan, mode, &t)) +
         (uint64_t)t.count * sizeof(amped_cpu_copy);
}

/* A chunk of nonzeros, grouped by tile. */
typedef struct chunk {
  const amped_cpu_copy *from;
  const amped_cpu_tiling *tiling;
  uint64_t entry;                          /* index of the last nonzero's row in from->row_list */
  uint64_t ends[AMPED_CPU_MOST_TILES + 1]; /* tile t has places ends[t] .. ends[t + 1] */
  uint8_t tiles[CHUNK];                    /* tile of each nonzero */
  uint64_t numbers[CHUNK];                 /* nonzero in each place, ascending within a tile */
  uint64_t rows[CHUNK];                    /* output row of that nonzero */
} chunk;

uint64_t amped_cpu_cutting_bytes(const amped_plan *plan, int mode) {
  const amped_cpu_tiling t = amped_cpu_tiling_choose(plan, mode);
  if (t.count == 1)
    return 0;
  return amped_cpu_copy_bytes(plan, mode, plan->modes[mode].copy.rank_nnz[plan->rank],
                              amped_plan_copy_rows(plan, mode)) +
         sizeof(chunk);
}

static uint64_t chunk_nnz(const chunk *c, uint64_t first) {
  return c->from->nnz - first < CHUNK ? c->from->nnz - first : CHUNK;
}

/* Find the tiles of nonzeros first .. first + n, and add to the tiles' counts. */
static void count_tiles(chunk *c, uint64_t first, uint64_t n, uint64_t *counts) {
  const amped_packing *p = c->from->packing;
  const int input = c->tiling->input;
  for (uint64_t i = 0; i < n; i++) {
    uint64_t w[AMPED_MAX_PLANES];
    amped_packed_get(p, (const void *const *)c->from->planes, first + i, w);
    uint64_t position = amped_packed_field(w, p->shifts[input], p->bits[input]);
    c->tiles[i] = (uint8_t)(position / c->tiling->width);
    counts[c->tiles[i]]++;
  }
}

/* Group nonzeros first .. first + n by tile. */
static void group(chunk *c, uint64_t first, uint64_t n) {
  uint64_t next[AMPED_CPU_MOST_TILES] = {0};
  count_tiles(c, first, n, next);
  for (int t = 0; t < c->tiling->count; t++) {
    c->ends[t + 1] = c->ends[t] + next[t];
    next[t] = c->ends[t];
  }
  for (uint64_t i = 0; i < n; i++) {
    uint64_t place = next[c->tiles[i]]++;
    c->entry += first + i > 0 && amped_cpu_copy_begins_row(c->from, first + i);
    c->numbers[place] = first + i;
    c->rows[place] = amped_index_get(c->from->row_list, c->from->index_type, c->entry);
  }
}

/* Give each tile its part of the arrays of `store`. */
static void place_tiles(chunk *c, uint64_t copy_rows, const amped_cpu_copy *store,
                        amped_cpu_copy *tiles) {
  uint64_t counts[AMPED_CPU_MOST_TILES] = {0};
  uint64_t nonzeros = 0;
  uint64_t rows = 0;
  for (uint64_t first = 0; first < c->from->nnz; first += CHUNK)
    count_tiles(c, first, chunk_nnz(c, first), counts);
  for (int t = 0; t < c->tiling->count; t++) {
    tiles[t] = amped_cpu_copy_part(store, nonzeros, rows, counts[t]);
    nonzeros += amped_ceil_div(counts[t], ROUND) * ROUND;
    rows += counts[t] < copy_rows ? counts[t] : copy_rows;
  }
}

static void fill_tiles(chunk *c, int threads, amped_cpu_copy *tiles) {
  for (uint64_t first = 0; first < c->from->nnz; first += CHUNK) {
    group(c, first, chunk_nnz(c, first));
#pragma omp parallel for schedule(dynamic) num_threads(threads)
    for (int t = 0; t < c->tiling->count; t++)
      amped_cpu_copy_take(&tiles[t], c->from, c->numbers + c->ends[t], c->rows + c->ends[t],
                          c->ends[t + 1] - c->ends[t]);
  }
}

amped_status amped_cpu_tiles_cut(amped_cpu_copy *copy, const amped_plan *plan, int mode,
                                 const amped_cpu_tiling *tiling, int threads,
                                 amped_cpu_copy **tiles) {
  static const char what[] = "the tiles of a copy";
  amped_cpu_copy store = {0};
  chunk *c = NULL;
  AMPED_TRY(amped_calloc(tiles, (uint64_t)tiling->count, sizeof **tiles, what));
  amped_status status = amped_calloc(&c, 1, sizeof *c, what);
  if (status == AMPED_OK)
    status = amped_cpu_copy_create(&store, plan, mode, room(copy->nnz, tiling),
                                   room_rows(plan, mode, tiling));
  if (status == AMPED_OK) {
    c->from = copy;
    c->tiling = tiling;
    place_tiles(c, amped_plan_copy_rows(plan, mode), &store, *tiles);
    fill_tiles(c, threads, *tiles);
    amped_cpu_copy_free(copy);
    *copy = store;
  } else {
    amped_cpu_copy_free(&store);
  }
  amped_free(c);
  return status;
}
