/* Rows of a copy that are cut for row fits: pieces cover every row in order, each in one span;
 * strips and runs cover all pieces; long rows have a slot a piece. By any number of threads. */
#include "cuda/complete/row_pieces_cuda.h"

#include <omp.h>

#include "base/random.h"
#include "cuda/sorted/tile_choice_cuda.h"
#include "tests/lib/testing.h"

#define MOST_ROWS 120000
#define OTHER_BYTES 1000
#define SLOT_BYTES 4096

/* A copy of mode 0 that is made up: rows of these numbers of nonzeros, the last ones shared. */
typedef struct made_up {
  amped_plan plan;
  amped_layout_cuda layout;
  uint64_t nnz[AMPED_MIN_ORDER], rank_rows[AMPED_MIN_ORDER];
  uint64_t count, own; /* rows, and those that are not shared */
  uint64_t *rows, *ends;
  void *list;
  uint32_t *bits;
} made_up;

static const amped_caches_cuda caches = {
    .multiprocessors = 132, .l2_bytes = UINT64_C(60) << 20, .shared_bytes = UINT64_C(227) << 10};

/* Nonzeros of row i: one or a few; of some, hundreds; of one in a few thousand, many more. */
static uint64_t length_of(uint64_t trial, uint64_t i) {
  const uint64_t draw = amped_random_u64(trial, 1, i);
  if (draw % 4001 == 0)
    return 1 + draw / 4001 % 20000;
  return 1 + (draw % 97 == 0 ? draw / 97 % 400 : draw / 97 % (1 + trial % 4));
}

static void make_rows(made_up *u, uint64_t trial, uint64_t count, uint64_t shared) {
  uint64_t end = 0;
  u->count = count;
  u->own = count - shared;
  check_ok(amped_alloc(&u->rows, count, sizeof *u->rows, "a test"));
  check_ok(amped_alloc(&u->ends, count, sizeof *u->ends, "a test"));
  check_ok(amped_alloc(&u->list, count, u->plan.index_type, "a test"));
  for (uint64_t i = 0; i < count; i++) {
    const uint64_t gap = amped_random_u64(trial, 2, i) % 3 == 0 ? 1 : 0;
    u->rows[i] = i == 0 ? gap : u->rows[i - 1] + 1 + gap;
    u->ends[i] = end += length_of(trial, i);
    amped_indices_put(u->list, u->plan.index_type, i, 1, &u->rows[i]);
  }
  check_ok(amped_calloc(&u->bits, amped_packing_bit_words(end), sizeof *u->bits, "a test"));
  for (uint64_t i = 0, k = 0; i < count; k = u->ends[i++])
    u->bits[k / 32] |= UINT32_C(1) << k % 32;
}

static void make_parts(made_up *u, int parts) {
  amped_row_plan *rows = &u->plan.modes[0].rows;
  rows->block_rows = u->own < u->count ? u->rows[u->own] : u->rows[u->count - 1] + 1;
  rows->parts = parts;
  for (int p = 0; p <= parts; p++)
    rows->part_rows[p] = rows->block_rows * (uint64_t)p / (uint64_t)parts;
}

/* budget: of the device, so that the copy is cut into spans; 0: as much as it takes. */
static void make_up(made_up *u, uint64_t trial, uint64_t count, uint64_t shared, int parts,
                    uint64_t budget) {
  const uint64_t positions[] = {1000000, 1000000};
  amped_plan *plan = &u->plan;
  memset(u, 0, sizeof *u);
  plan->order = AMPED_MIN_ORDER;
  plan->sorted = true;
  plan->boxed = -1;
  plan->nranks = 1;
  plan->value_type = AMPED_F32;
  plan->index_type = trial % 2 == 0 ? AMPED_U32 : AMPED_U64;
  make_rows(u, trial, count, shared);
  make_parts(u, parts);
  for (int m = 0; m < plan->order; m++) {
    u->nnz[m] = u->ends[count - 1];
    u->rank_rows[m] = m == 0 ? plan->modes[0].rows.block_rows : 1;
    plan->modes[m].copy.rank_nnz = &u->nnz[m];
    plan->modes[m].rows.rank_rows = &u->rank_rows[m];
    plan->modes[m].copy.output_rows = u->rows[count - 1] + 1;
    amped_packing_make(&plan->modes[m].copy.packing, plan->order - 1, positions, 0,
                       plan->value_type, u->nnz[m]);
  }
  const amped_layout_wish_cuda wish = {.storage = &amped_storage_packed_cuda,
                                       .residency = AMPED_RESIDENCY_AUTO,
                                       .budget_bytes = budget > 0 ? budget : UINT64_C(1) << 40,
                                       .other_bytes = OTHER_BYTES,
                                       .tile_bytes = AMPED_TILES_OFF,
                                       .caches = caches};
  check_ok(amped_layout_cuda_make(&u->layout, plan, &wish));
  ck_assert(budget == 0 || u->layout.first_block[1] > 0);
}

static void make_free(made_up *u) {
  amped_free(u->rows);
  amped_free(u->ends);
  amped_free(u->list);
  amped_free(u->bits);
}

static int part_of(const made_up *u, uint64_t i) {
  const amped_row_plan *rows = &u->plan.modes[0].rows;
  int part = rows->parts - 1;
  while (i < u->own && part > 0 && u->rows[i] < rows->part_rows[part])
    part--;
  return part;
}

static amped_span_cuda span_at(const made_up *u, uint64_t k) {
  amped_span_cuda span;
  check_ok(amped_layout_cuda_span(&u->layout, &u->plan, 0, k, &span));
  return span;
}

/* Pieces of all rows. part_of_piece: [pieces] for what follows. */
static void pieces_cover_rows(const made_up *u, const amped_row_pieces_cuda *p,
                              int *part_of_piece) {
  const uint64_t length = amped_row_pieces_cuda_length(u->nnz[0], SLOT_BYTES);
  uint64_t at = 0;
  uint64_t slots = 0;
  uint64_t long_rows = 0;
  for (uint64_t i = 0, k = 0; i < u->count; i++) {
    const amped_span_cuda first = span_at(u, k);
    const bool whole =
        i < u->own && u->ends[i] - k <= length && u->ends[i] <= first.first + first.count;
    const uint64_t first_slot = slots;
    for (; k < u->ends[i]; at++) {
      const amped_row_piece_cuda *piece = &p->pieces[at];
      const amped_span_cuda span = span_at(u, k);
      if (at >= p->count || piece->first != k || piece->row != u->rows[i] || piece->count == 0 ||
          piece->count > length || k + piece->count > u->ends[i] ||
          k + piece->count > span.first + span.count ||
          piece->slot != (whole ? AMPED_NO_SLOT : slots))
        ck_abort_msg("piece %" PRIu64 " of row %" PRIu64 " is wrong", at, i);
      part_of_piece[at] = part_of(u, i);
      slots += whole ? 0 : 1;
      k += piece->count;
    }
    if (whole)
      continue;
    const amped_long_row_cuda *row = &p->long_rows[long_rows++];
    ck_assert(row->row == u->rows[i] && row->first == first_slot &&
              row->count == slots - first_slot);
  }
  ck_assert(at == p->count && slots == p->slots && long_rows == p->long_count);
}

static void runs_cover_pieces(const made_up *u, const amped_row_pieces_cuda *p,
                              const int *part_of_piece) {
  uint64_t strip = 0;
  uint64_t at = 0;
  for (uint64_t r = 0; r < p->runs; r++) {
    const amped_row_run_cuda *run = &p->run[r];
    const amped_span_cuda span = span_at(u, p->pieces[at].first);
    ck_assert(run->first_strip == strip && run->strips > 0);
    ck_assert_int_eq(run->part, part_of_piece[at]);
    ck_assert_uint_eq(run->nonzero, p->pieces[at].first / AMPED_LONG_PACK * AMPED_LONG_PACK);
    for (; strip < run->first_strip + run->strips; strip++) {
      ck_assert_uint_gt(p->strip_ends[strip], at);
      for (; at < p->strip_ends[strip]; at++)
        if (part_of_piece[at] != run->part || p->pieces[at].first >= span.first + span.count)
          ck_abort_msg("piece %" PRIu64 " is of another run than %" PRIu64, at, r);
    }
    if (at < p->count) /* the next run is another for a reason */
      ck_assert(part_of_piece[at] != run->part || p->pieces[at].first >= span.first + span.count);
  }
  ck_assert(strip == p->strips && at == p->count);
}

static void parts_are_right(const made_up *u, const amped_row_pieces_cuda *p) {
  const amped_row_plan *rows = &u->plan.modes[0].rows;
  ck_assert_uint_eq(p->part_long[0], 0);
  for (int part = 1; part <= rows->parts; part++) {
    uint64_t before = 0;
    while (before < p->long_count && p->long_rows[before].row < rows->part_rows[part])
      before++;
    ck_assert_uint_eq(p->part_long[part], before);
  }
}

static void empty_rows_are_right(const made_up *u) {
  const amped_row_plan *rows = &u->plan.modes[0].rows;
  uint32_t *gaps = NULL;
  check_ok(amped_calloc(&gaps, amped_packing_bit_words(rows->block_rows), sizeof *gaps, "a test"));
  ck_assert_uint_eq(amped_row_pieces_cuda_empty_rows(&u->plan, 0, u->list, u->count, gaps),
                    rows->block_rows - u->own);
  for (uint64_t i = 0; i < u->own; i++)
    ck_assert_uint_eq(gaps[u->rows[i] / 32] >> u->rows[i] % 32 & 1, 0);
  amped_free(gaps);
}

static void make_pieces(const made_up *u, amped_row_pieces_cuda *p) {
  check_ok(amped_row_pieces_cuda_make(p, &u->plan, &u->layout, 0, u->bits, u->list, SLOT_BYTES));
}

/* The same by one thread and by many. */
static void threads_agree(const made_up *u, const amped_row_pieces_cuda *p) {
  const int threads = omp_get_max_threads();
  amped_row_pieces_cuda other;
  omp_set_num_threads(threads == 1 ? 3 : 1);
  make_pieces(u, &other);
  omp_set_num_threads(threads);
  ck_assert(other.count == p->count && other.strips == p->strips &&
            other.long_count == p->long_count && other.runs == p->runs);
  ck_assert_mem_eq(other.pieces, p->pieces, p->count * sizeof *p->pieces);
  ck_assert_mem_eq(other.strip_ends, p->strip_ends, p->strips * sizeof *p->strip_ends);
  for (uint64_t i = 0; i < p->runs; i++)
    ck_assert(other.run[i].first_strip == p->run[i].first_strip &&
              other.run[i].strips == p->run[i].strips &&
              other.run[i].nonzero == p->run[i].nonzero && other.run[i].part == p->run[i].part);
  amped_row_pieces_cuda_free(&other);
}

static void rows_are_cut(uint64_t trial, uint64_t count, uint64_t shared, int parts,
                         uint64_t budget) {
  made_up u;
  amped_row_pieces_cuda p;
  int *part_of_piece = NULL;
  make_up(&u, trial, count, shared, parts, budget);
  make_pieces(&u, &p);
  const amped_row_pieces_limits_cuda most =
      amped_row_pieces_cuda_limits(&u.plan, &u.layout, 0, SLOT_BYTES);
  ck_assert(p.count <= most.pieces && p.slots <= most.slots && p.long_count <= most.long_rows);
  check_ok(amped_alloc(&part_of_piece, p.count, sizeof *part_of_piece, "a test"));
  pieces_cover_rows(&u, &p, part_of_piece);
  runs_cover_pieces(&u, &p, part_of_piece);
  parts_are_right(&u, &p);
  empty_rows_are_right(&u);
  threads_agree(&u, &p);
  amped_free(part_of_piece);
  amped_row_pieces_cuda_free(&p);
  make_free(&u);
}

START_TEST(resident_rows_are_cut) {
  rows_are_cut(0, 1, 0, 1, 0);
  rows_are_cut(1, 33, 0, 1, 0);
  rows_are_cut(2, 1000, 7, 1, 0);
  rows_are_cut(3, MOST_ROWS, 0, 1, 0);
  rows_are_cut(4, MOST_ROWS, 0, 4, 0);
  rows_are_cut(5, MOST_ROWS, 900, 3, 0);
  rows_are_cut(6, 50, 50, 2, 0); /* all are shared */
  check_no_leak();
}

/* Rows lie in spans, and some cross them. */
START_TEST(streamed_rows_are_cut) {
  for (uint64_t trial = 10; trial < 16; trial++)
    rows_are_cut(trial, MOST_ROWS, trial % 2 * 500, 1 + (int)(trial % 3), (6 + trial % 3) << 20);
  check_no_leak();
}

START_TEST(short_memory_is_an_error) {
  made_up u;
  make_up(&u, 3, 1000, 3, 2, 0);
  for (int64_t k = 0; k < 6; k++) {
    amped_row_pieces_cuda p;
    amped_mem_fail_at(k);
    check_fails(AMPED_FAILED, "memory",
                amped_row_pieces_cuda_make(&p, &u.plan, &u.layout, 0, u.bits, u.list, SLOT_BYTES));
    amped_mem_fail_at(-1);
  }
  make_free(&u);
  check_no_leak();
}

TESTING_MAIN("row pieces", resident_rows_are_cut, streamed_rows_are_cut, short_memory_is_an_error)
