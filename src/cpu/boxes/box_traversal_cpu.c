/* Box traversal: order of pieces, units of work and the way each unit adds up. */
#include "cpu/boxes/box_traversal_cpu.h"

#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/sort.h"

/* A unit has 1 / UNITS of the nonzeros. It has more if that would be too few to keep threads busy
 * (LEAST_NNZ), or too few for a part's sums, whose number is the rows of its tile
 * (LEAST_NNZ_A_ROW). */
#define UNITS 64
#define LEAST_NNZ 16384
#define LEAST_NNZ_A_ROW 32

/* Float sums are flushed to sums in double only if there is at most one row per NNZ_A_FLUSHED_ROW
 * nonzeros. */
#define NNZ_A_FLUSHED_ROW 8

/* Bytes of counters per nonzero, in addition to one thread's. */
#define COUNTING_BYTES 16

/* From this mean number of successive nonzeros of one row on, neighbours are added up before they
 * go to their sum. */
#define LONG_RUN 8

static const char what[] = "the traversal of boxes";

/* --- sizes ------------------------------------------------------------------------------------ */

uint64_t amped_box_traversal_rows(const amped_plan *plan, int mode) {
  return mode == plan->boxed ? plan->modes[mode].copy.output_rows
                             : amped_plan_factor_rows(plan, mode);
}

static uint64_t least(uint64_t a, uint64_t b) {
  return a < b ? a : b;
}

static uint64_t most(uint64_t a, uint64_t b) {
  return a > b ? a : b;
}

static uint64_t own_nnz(const amped_plan *plan) {
  return plan->modes[plan->boxed].copy.rank_nnz[plan->rank];
}

static uint64_t tile_rows(const amped_plan *plan, int mode) {
  return least(UINT64_C(1) << plan->linear.low_bits[mode], amped_box_traversal_rows(plan, mode));
}

/* Nonzeros per unit. A tile with twice as many is cut. */
static uint64_t unit_nnz(const amped_plan *plan, int mode) {
  return most(amped_ceil_div(own_nnz(plan), UNITS),
              most(LEAST_NNZ, LEAST_NNZ_A_ROW * tile_rows(plan, mode)));
}

/* Upper bound on the number of units. */
static uint64_t most_units(const amped_plan *plan, int mode) {
  const uint64_t tiles = amped_ceil_div(amped_box_traversal_rows(plan, mode),
                                        UINT64_C(1) << plan->linear.low_bits[mode]);
  return least(tiles, amped_box_copy_most_pieces(plan)) + own_nnz(plan) / unit_nnz(plan, mode);
}

static uint64_t frequent_words(const amped_plan *plan, int mode) {
  return amped_box_traversal_rows(plan, mode) / 64 + 1;
}

/* Bytes of a thread's counters: per row of a tile, one for the unit and one for the piece. */
static uint64_t counter_bytes(const amped_plan *plan, int mode) {
  return tile_rows(plan, mode) * 2 * sizeof(uint32_t);
}

/* Number of threads that count: fewer if tiles have many more rows than nonzeros. */
static int counting_threads(const amped_plan *plan, int mode, int threads) {
  const uint64_t pays = own_nnz(plan) * COUNTING_BYTES / counter_bytes(plan, mode) + 1;
  return pays < (uint64_t)threads ? (int)pays : threads;
}

uint64_t amped_box_traversal_bytes(const amped_plan *plan, int mode) {
  const uint64_t frequent = plan->value_type == AMPED_F32 ? sizeof(uint64_t) + sizeof(uint32_t) : 0;
  return amped_box_copy_most_pieces(plan) * sizeof(uint64_t) +
         most_units(plan, mode) * (sizeof(amped_box_unit) + sizeof(amped_box_join)) +
         frequent_words(plan, mode) * frequent;
}

uint64_t amped_box_traversal_making_bytes(const amped_plan *plan, int mode, int threads) {
  const uint64_t sorting =
      amped_box_copy_most_pieces(plan) * (2 * sizeof(uint64_t) + AMPED_SORT_SCRATCH);
  const uint64_t counting =
      (uint64_t)counting_threads(plan, mode, threads) * counter_bytes(plan, mode);
  return most(sorting, counting);
}

uint64_t amped_box_traversal_slot_rows(const amped_plan *plan, int mode) {
  return own_nnz(plan) / unit_nnz(plan, mode) * tile_rows(plan, mode);
}

uint64_t amped_box_traversal_own_rows(const amped_plan *plan, int mode) {
  const uint64_t nnz = 2 * unit_nnz(plan, mode); /* most nonzeros of a tile that is not cut */
  return plan->value_type == AMPED_F64 ? 0 : least(tile_rows(plan, mode), nnz / NNZ_A_FLUSHED_ROW);
}

void amped_box_traversal_free(amped_box_traversal *w) {
  amped_free(w->order);
  amped_free(w->units);
  amped_free(w->joins);
  amped_free(w->frequent);
  amped_free(w->frequent_before);
  memset(w, 0, sizeof *w);
}

/* --- order of the pieces ---------------------------------------------------------------------- */

static amped_status sort_pieces(amped_box_traversal *w, const amped_box_copy *c, int mode) {
  const uint8_t *const low_bits = c->plan->linear.low_bits;
  const int other = amped_plan_longest_other(c->plan, mode);
  amped_status status = AMPED_OK;
  uint64_t *tiles = NULL;
  uint64_t *ranges = NULL;
  uint64_t last = 0;
  AMPED_GO(done, amped_alloc(&tiles, c->piece_count, sizeof *tiles, what));
  AMPED_GO(done, amped_alloc(&ranges, c->piece_count, sizeof *ranges, what));
  for (uint64_t i = 0; i < c->piece_count; i++) {
    w->order[i] = i;
    tiles[i] = c->pieces[i].base[mode] >> low_bits[mode];
    ranges[i] = c->pieces[i].base[other] >> low_bits[other];
    last = most(last, ranges[i]);
  }
  for (uint64_t i = 0; i < c->piece_count; i++)
    ranges[i] = tiles[i] % 2 == 0 ? ranges[i] : last - ranges[i];
  const amped_sort_field fields[] = {{tiles, amped_sort_bits(tiles, c->piece_count)},
                                     {ranges, amped_sort_bits(ranges, c->piece_count)}};
  void *const arrays[] = {w->order};
  if (c->piece_count > 0)
    status = amped_sort(c->piece_count, fields, 2, 0, arrays, 1);
done:
  amped_free(tiles);
  amped_free(ranges);
  return status;
}

/* --- units ------------------------------------------------------------------------------------ */

/* State while the units of a traversal are made. */
typedef struct maker {
  amped_box_traversal *w;
  amped_box_copy *c;
  int mode;
  uint64_t slots; /* rows of slots so far */
} maker;

static const amped_box_piece *piece_at(const maker *k, uint64_t turn) {
  return &k->c->pieces[k->w->order[turn]];
}

static uint64_t tile_of(const maker *k, uint64_t turn) {
  return piece_at(k, turn)->base[k->mode] >> k->c->plan->linear.low_bits[k->mode];
}

/* Append a unit of `tile` from turn `first` on. It takes pieces until it has at least nnz nonzeros.
 * Returns the turn after its last piece. */
static uint64_t add_unit(maker *k, const amped_box_unit *tile, uint64_t first, uint64_t nnz) {
  amped_box_unit *u = &k->w->units[k->w->unit_count++];
  *u = *tile;
  u->first = first;
  u->nnz = 0;
  for (u->end = first; u->end < tile->end && u->nnz < nnz; u->end++)
    u->nnz += piece_at(k, u->end)->count;
  return u->end;
}

/* Append the units of a tile, and their join if it is cut. */
static void add_tile(maker *k, amped_box_unit tile) {
  const uint64_t parts = tile.nnz / unit_nnz(k->c->plan, k->mode);
  uint64_t turn = tile.first;
  uint64_t left = tile.nnz;
  if (parts < 2) {
    tile.slot = AMPED_NO_ROW;
    k->w->units[k->w->unit_count++] = tile;
    return;
  }
  amped_box_join *join = &k->w->joins[k->w->join_count++];
  *join = (amped_box_join){.row = tile.row,
                           .rows = tile.rows,
                           .clear = tile.clear,
                           .until = tile.until,
                           .slot = k->slots};
  tile.clear = tile.until = 0;
  for (uint64_t p = 0; p < parts && turn < tile.end; p++) {
    tile.slot = k->slots;
    turn = add_unit(k, &tile, turn, amped_ceil_div(left, parts - p));
    left -= k->w->units[k->w->unit_count - 1].nnz;
    k->slots += tile.rows;
    join->parts++;
  }
}

/* Append the units of all tiles. A tile also zeroes the rows before it that lie in empty tiles. */
static void add_units(maker *k) {
  const uint64_t pieces = k->c->piece_count;
  const int low_bits = k->c->plan->linear.low_bits[k->mode];
  uint64_t clear = 0;
  for (uint64_t turn = 0; turn < pieces;) {
    const uint64_t number = tile_of(k, turn);
    amped_box_unit tile = {.first = turn, .row = number << low_bits, .clear = clear};
    tile.rows = least(UINT64_C(1) << low_bits, k->w->rows - tile.row);
    for (; turn < pieces && tile_of(k, turn) == number; turn++)
      tile.nnz += piece_at(k, turn)->count;
    tile.end = turn;
    clear = tile.until = turn < pieces ? tile.row + tile.rows : k->w->rows;
    add_tile(k, tile);
  }
}

static int larger_first(const void *left, const void *right) {
  const amped_box_unit *a = left;
  const amped_box_unit *b = right;
  if (a->nnz != b->nnz)
    return a->nnz > b->nnz ? -1 : 1;
  return a->first < b->first ? -1 : a->first > b->first;
}

/* --- counts ----------------------------------------------------------------------------------- */

/* A thread's counters: one per row of a tile. */
typedef struct counters {
  uint32_t *of_piece, *of_unit;
} counters;

/* Count the nonzeros of a piece's rows. Returns how often the row changes. */
static uint64_t count_piece(const maker *k, const amped_box_unit *u, amped_box_piece *piece,
                            const counters *n) {
  uint64_t changes = 0;
  uint64_t before = AMPED_NO_ROW;
  uint32_t top = 0;
  for (uint64_t i = 0; i < piece->count; i++) {
    const uint64_t row =
        amped_box_copy_row(k->c, k->mode, piece->base[k->mode], piece->first + i) - u->row;
    const uint32_t now = ++n->of_piece[row];
    top = now > top ? now : top;
    changes += row != before;
    before = row;
  }
  for (uint64_t i = 0; i < piece->count; i++) {
    const uint64_t row =
        amped_box_copy_row(k->c, k->mode, piece->base[k->mode], piece->first + i) - u->row;
    n->of_unit[row] += n->of_piece[row];
    n->of_piece[row] = 0;
  }
  piece->most[k->mode] = (uint16_t)top;
  return changes;
}

static void mark_frequent(const maker *k, amped_box_unit *u, const counters *n) {
  for (uint64_t r = 0; r < u->rows; r++)
    if (n->of_unit[r] > AMPED_FLOAT_TERMS) {
      const uint64_t row = u->row + r;
      const uint64_t bit = UINT64_C(1) << row % 64;
#pragma omp atomic
      k->w->frequent[row / 64] |= bit;
      u->frequent++;
    }
}

/* Count the nonzeros of a unit's rows, and choose its way. Returns how often the row changes. */
static uint64_t count_unit(const maker *k, amped_box_unit *u, const counters *n) {
  uint64_t changes = 0;
  uint64_t terms = 0; /* upper bound of terms per row */
  uint32_t top = 0;
  memset(n->of_unit, 0, u->rows * sizeof *n->of_unit);
  for (uint64_t turn = u->first; turn < u->end; turn++) {
    amped_box_piece *piece = &k->c->pieces[k->w->order[turn]];
    changes += count_piece(k, u, piece, n);
    terms += piece->most[k->mode];
  }
  for (uint64_t r = 0; r < u->rows; r++)
    top = n->of_unit[r] > top ? n->of_unit[r] : top;
  const uint64_t flushes = terms / (AMPED_FLOAT_TERMS / 2) + 1;
  const bool cheap = u->rows <= u->nnz / NNZ_A_FLUSHED_ROW / flushes;
  if (k->c->plan->value_type == AMPED_F64)
    u->way = u->slot == AMPED_NO_ROW ? AMPED_BOX_DIRECT : AMPED_BOX_DOUBLE;
  else if (u->slot != AMPED_NO_ROW)
    u->way = cheap ? AMPED_BOX_FLUSHED : AMPED_BOX_DOUBLE;
  else if (top > AMPED_FLOAT_TERMS)
    u->way = cheap ? AMPED_BOX_FLUSHED : AMPED_BOX_FREQUENT;
  if (u->way == AMPED_BOX_FREQUENT)
    mark_frequent(k, u, n);
  return changes;
}

static amped_status count_rows(const maker *k, int threads) {
  const uint64_t rows = tile_rows(k->c->plan, k->mode);
  uint32_t *all = NULL;
  uint64_t changes = 0;
  threads = counting_threads(k->c->plan, k->mode, threads);
  AMPED_TRY(amped_calloc(&all, (uint64_t)threads, counter_bytes(k->c->plan, k->mode), what));
#pragma omp parallel for schedule(dynamic) num_threads(threads) reduction(+ : changes)
  for (uint64_t i = 0; i < k->w->unit_count; i++) {
    uint32_t *const own = all + (uint64_t)omp_get_thread_num() * 2 * rows;
    changes += count_unit(k, &k->w->units[i], &(counters){own, own + rows});
  }
  k->w->runs = k->c->nnz / LONG_RUN >= changes;
  amped_free(all);
  return AMPED_OK;
}

/* Count the frequent rows before each word. Returns false if there are none. */
static bool number_frequent(amped_box_traversal *w, uint64_t words) {
  uint64_t before = 0;
  for (uint64_t i = 0; i < words; i++) {
    w->frequent_before[i] = (uint32_t)before;
    before += (uint64_t)__builtin_popcountll(w->frequent[i]);
  }
  return before > 0;
}

static amped_status choose_ways(maker *k, int threads) {
  const amped_plan *plan = k->c->plan;
  const uint64_t words = plan->value_type == AMPED_F32 ? frequent_words(plan, k->mode) : 0;
  amped_box_traversal *w = k->w;
  AMPED_TRY(amped_calloc(&w->frequent, words, sizeof *w->frequent, what));
  AMPED_TRY(amped_alloc(&w->frequent_before, words, sizeof *w->frequent_before, what));
  AMPED_TRY(count_rows(k, threads));
  if (!number_frequent(w, words)) {
    amped_free(w->frequent);
    amped_free(w->frequent_before);
    w->frequent = NULL;
    w->frequent_before = NULL;
  }
  return AMPED_OK;
}

/* --- the whole traversal
 * --------------------------------------------------------------------------- */

amped_status amped_box_traversal_create(amped_box_traversal *w, amped_box_copy *c, int mode,
                                        int threads) {
  const uint64_t units = most_units(c->plan, mode);
  maker k = {w, c, mode, 0};
  w->rows = amped_box_traversal_rows(c->plan, mode);
  AMPED_TRY(amped_alloc(&w->order, c->piece_count, sizeof *w->order, what));
  AMPED_TRY(amped_alloc(&w->units, units, sizeof *w->units, what));
  AMPED_TRY(amped_alloc(&w->joins, units, sizeof *w->joins, what));
  AMPED_TRY(sort_pieces(w, c, mode));
  add_units(&k);
  AMPED_TRY(choose_ways(&k, threads));
  if (w->unit_count > 0)
    qsort(w->units, w->unit_count, sizeof *w->units, larger_first);
  return AMPED_OK;
}
