/* Box copies and traversals: a copy holds every nonzero, in pieces of one box each; a traversal
 * visits each piece once, and its units share no row but through joins. */
#include "cpu/boxes/box_traversal_cpu.h"
#include "tests/lib/testing_backend.h"

#define WAYS 4

typedef struct boxes {
  bench s;
  amped_box_copy copy;
  amped_batch batch;
  void *blocks[AMPED_MAX_ORDER + 1];
} boxes;

static void open_boxes(boxes *b, problem *p, int rank, int nranks, int threads) {
  setup how = alone();
  how.needs.one_copy = true;
  how.options.copies = AMPED_COPIES_ONE;
  how.rank = rank;
  how.nranks = nranks;
  memset(b, 0, sizeof *b);
  bench_plan(&b->s, p, &how);
  b->batch = make_batch(&b->s, b->s.plan.boxed, b->blocks);
  b->batch.rows = b->blocks[0];
  for (int i = 0; i + 1 < p->t.order; i++)
    b->batch.inputs[i] = b->blocks[1 + i];
  b->batch.values = b->blocks[p->t.order];
  check_ok(amped_box_copy_create(&b->copy, &b->s.plan));
  check_ok(amped_box_copy_add(&b->copy, NULL, 0, &b->batch, threads));
  check_ok(amped_box_copy_finish(&b->copy, threads));
}

static void close_boxes(boxes *b) {
  amped_box_copy_free(&b->copy);
  for (int a = 0; a <= b->s.plan.order; a++)
    amped_free(b->blocks[a]);
  bench_close(&b->s);
}

/* --- copies ------------------------------------------------------------------------------------*/

/* Coordinates and value in one number, which tells nonzeros apart well enough. */
static uint64_t mix(const uint64_t *at, int order, float value) {
  uint64_t sum = 0;
  uint32_t bits = 0;
  memcpy(&bits, &value, sizeof bits);
  for (int m = 0; m < order; m++)
    sum = amped_random_u64(sum, (uint64_t)m, at[m]);
  return amped_random_u64(sum, 77, bits);
}

static uint64_t mix_of_batch(const boxes *b) {
  const amped_plan *plan = &b->s.plan;
  uint64_t sum = 0;
  for (uint64_t k = 0; k < b->batch.count; k++) {
    uint64_t at[AMPED_MAX_ORDER];
    int input = 0;
    for (int m = 0; m < plan->order; m++)
      at[m] = amped_index_get(m == plan->boxed ? b->batch.rows : b->batch.inputs[input++],
                              plan->index_type, k);
    sum += mix(at, plan->order, ((const float *)b->batch.values)[k]);
  }
  return sum;
}

/* Pieces follow each other; boxes ascend, rows in a piece too. */
static void copy_is_right(const boxes *b) {
  const amped_plan *plan = &b->s.plan;
  const amped_box_copy *c = &b->copy;
  uint64_t next = 0;
  uint64_t box = 0;
  uint64_t sum = 0;
  ck_assert_uint_le(c->piece_count, amped_box_copy_most_pieces(plan));
  for (uint64_t i = 0; i < c->piece_count; i++) {
    const amped_box_piece *piece = &c->pieces[i];
    uint64_t last = 0;
    if (piece->first != next || piece->count == 0 || piece->count > AMPED_PIECE_NNZ ||
        amped_linear_box(&plan->linear, piece->base) < box)
      ck_abort_msg("piece %" PRIu64 " is in the wrong place", i);
    box = amped_linear_box(&plan->linear, piece->base);
    next += piece->count;
    for (uint64_t k = piece->first; k < next; k++) {
      uint64_t at[AMPED_MAX_ORDER];
      for (int m = 0; m < plan->order; m++)
        at[m] = amped_box_copy_row(c, m, piece->base[m], k);
      const uint64_t row = at[plan->boxed];
      if (amped_linear_box(&plan->linear, at) != box || row < last ||
          piece->shared != (row >= plan->modes[plan->boxed].rows.block_rows))
        ck_abort_msg("nonzero %" PRIu64 " is in the wrong place", k);
      last = row;
      sum += mix(at, plan->order, ((const float *)c->values)[k]);
    }
  }
  ck_assert_uint_eq(next, b->batch.count);
  ck_assert_uint_eq(sum, mix_of_batch(b));
}

START_TEST(copies_hold_every_nonzero_in_its_box) {
  static const uint64_t shapes[][4] = {{3000, 40, 1025, 2}, {5, 7000, 46, 33}, {1, 1, 1, 9}};
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
    for (int nranks = 1; nranks <= 3; nranks++) {
      problem p;
      boxes b;
      problem_create(&p, 4, shapes[i], 30000, 1, AMPED_F32);
      for (int rank = 0; rank < nranks; rank++) {
        open_boxes(&b, &p, rank, nranks, 1 + (int)i);
        copy_is_right(&b);
        close_boxes(&b);
      }
      problem_free(&p);
    }
  check_no_leak();
}
END_TEST

START_TEST(copies_are_the_same_on_any_number_of_threads) {
  static const uint64_t dims[] = {300, 2000, 50};
  problem p;
  boxes a;
  boxes b;
  problem_create(&p, 3, dims, 50000, 1, AMPED_F32);
  open_boxes(&a, &p, 0, 1, 1);
  for (int threads = 2; threads < 8; threads += 3) {
    open_boxes(&b, &p, 0, 1, threads);
    ck_assert_uint_eq(a.copy.piece_count, b.copy.piece_count);
    ck_assert_mem_eq(a.copy.values, b.copy.values, p.t.nnz * sizeof(float));
    ck_assert_mem_eq(a.copy.planes[0], b.copy.planes[0],
                     p.t.nnz * a.s.plan.linear.packing.plane_bytes[0]);
    close_boxes(&b);
  }
  close_boxes(&a);
  problem_free(&p);
  check_no_leak();
}
END_TEST

/* --- traversals
 * -------------------------------------------------------------------------------------*/

/* Every row is zeroed by one unit or join. */
static void clear(char *cleared, uint64_t first, uint64_t end) {
  for (uint64_t r = first; r < end; r++)
    if (cleared[r]++)
      ck_abort_msg("row %" PRIu64 " is zeroed twice", r);
}

static void unit_is_right(const boxes *b, const amped_box_traversal *w, int mode,
                          const amped_box_unit *u, char *visited) {
  const amped_plan *plan = &b->s.plan;
  uint64_t nnz = 0;
  ck_assert_uint_lt(u->first, u->end);
  for (uint64_t turn = u->first; turn < u->end; turn++) {
    const amped_box_piece *piece = &b->copy.pieces[w->order[turn]];
    if (visited[w->order[turn]]++ || piece->base[mode] != u->row)
      ck_abort_msg("piece %" PRIu64 " has no place here", w->order[turn]);
    nnz += piece->count;
  }
  ck_assert_uint_eq(u->nnz, nnz);
  ck_assert_uint_le(u->row + u->rows, w->rows);
  const uint64_t own = amped_box_traversal_own_rows(plan, mode);
  if (u->way == AMPED_BOX_FLUSHED)
    ck_assert_uint_le(u->rows, own);
  if (u->way == AMPED_BOX_FREQUENT)
    ck_assert(u->frequent > 0 && u->frequent <= own);
  if (u->slot != AMPED_NO_ROW)
    ck_assert_uint_le(u->slot + u->rows, amped_box_traversal_slot_rows(plan, mode));
  ck_assert(u->way != AMPED_BOX_DOUBLE || u->slot != AMPED_NO_ROW);
}

static void traversal_is_right(boxes *b, int mode, uint64_t *ways) {
  amped_box_traversal w;
  char *visited = NULL;
  char *cleared = NULL;
  uint64_t parts = 0;
  memset(&w, 0, sizeof w);
  check_ok(amped_box_traversal_create(&w, &b->copy, mode, 2));
  check_ok(amped_calloc(&visited, b->copy.piece_count, 1, "a test"));
  check_ok(amped_calloc(&cleared, w.rows, 1, "a test"));
  for (uint64_t i = 0; i < w.unit_count; i++) {
    const amped_box_unit *u = &w.units[i];
    ck_assert(i == 0 || u->nnz <= w.units[i - 1].nnz);
    unit_is_right(b, &w, mode, u, visited);
    clear(cleared, u->clear, u->until);
    parts += u->slot != AMPED_NO_ROW;
    ways[u->way]++;
  }
  for (uint64_t i = 0; i < w.join_count; i++) {
    clear(cleared, w.joins[i].clear, w.joins[i].until);
    ck_assert(w.joins[i].clear <= w.joins[i].row &&
              w.joins[i].row + w.joins[i].rows <= w.joins[i].until);
    ck_assert_uint_ge(w.joins[i].parts, 2);
    parts -= w.joins[i].parts;
  }
  ck_assert_uint_eq(parts, 0);
  ck_assert_ptr_null(memchr(visited, 0, b->copy.piece_count));
  if (b->copy.nnz > 0)
    ck_assert_ptr_null(memchr(cleared, 0, w.rows));
  amped_free(visited);
  amped_free(cleared);
  amped_box_traversal_free(&w);
}

/* Half of the nonzeros are in one row of the last mode: together the shapes need every way. */
START_TEST(traversals_visit_every_piece_once) {
  static const uint64_t shapes[][3] = {
      {46, 9000, 300}, {400000, 300000, 70000}, {3000, 2, 60000}, {2, 3, 2}, {90, 1, 700}};
  uint64_t ways[WAYS] = {0};
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
    for (int nranks = 1; nranks <= 2; nranks++) {
      problem p;
      boxes b;
      problem_create(&p, 3, shapes[i], 300000, 1, AMPED_F32);
      open_boxes(&b, &p, nranks - 1, nranks, 2);
      for (int mode = 0; mode < 3; mode++)
        traversal_is_right(&b, mode, ways);
      close_boxes(&b);
      problem_free(&p);
    }
  for (int way = 0; way < WAYS; way++)
    ck_assert_msg(ways[way] > 0, "no unit has way %d", way);
  check_no_leak();
}
END_TEST

TESTING_MAIN("box_traversal", copies_hold_every_nonzero_in_its_box,
             copies_are_the_same_on_any_number_of_threads, traversals_visit_every_piece_once)
