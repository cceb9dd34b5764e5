/* Copies in tiles of an input factor, on a GPU: the same MTTKRP as the oracle's, the same bits
 * every time. Without a GPU there is nothing to test. */
#include "tests/lib/testing_backend.h"
#include "cuda/sorted/tile_choice_cuda.h"

/* Tools under which kernels take minutes ask for fewer nonzeros, one of so many, and get fewer
 * tiles and repetitions, too. */
static uint64_t fewer(void) {
  const char *text = getenv("AMPED_TEST_FEWER");
  const long share = text != NULL ? atol(text) : 1;
  return share > 1 ? (uint64_t)share : 1;
}

static uint64_t of(uint64_t nnz) {
  return nnz / fewer();
}

/* Twice the same bits: additions have one order, whatever thread blocks do first. */
static void mode_repeats(const bench *s, int mode) {
  uint64_t bytes = s->plan.modes[mode].rows.block_rows * (uint64_t)s->p->ncomps * sizeof(double);
  amped_mttkrp_times times;
  check_ok(mttkrp_whole(&s->w, mode, &times));
  double *first = get_output(s, mode);
  for (int i = fewer() > 1 ? 4 : 0; i < 5; i++) {
    check_ok(mttkrp_whole(&s->w, mode, &times));
    double *again = get_output(s, mode);
    ck_assert_mem_eq(again, first, bytes);
    amped_free(again);
  }
  amped_free(first);
}

static void tiles_are_right(problem *p, setup how, const uint64_t *sizes, size_t count) {
  for (size_t i = fewer() > 1 ? count / 2 : 0; i < count; i++) {
    bench s;
    how.options.tile_bytes = sizes[i];
    all_ranks_are_right(p, 1, how);
    all_ranks_are_right(p, 3, how);
    how.parts = 2 + (int)i % 4;
    all_ranks_are_right(p, 1, how);
    all_ranks_are_right(p, 3, how);
    bench_plan(&s, p, &how);
    bench_load(&s);
    for (int m = 0; m < p->t.order; m++)
      mode_repeats(&s, m);
    bench_close(&s);
  }
}

/* Tiles from less than a row to the whole factor. */
static void tiles_change_nothing(int order, const uint64_t *dims, int ncomps, amped_vtype type) {
  static const uint64_t sizes[] = {64, 1000, 4096, 20000, UINT64_C(1) << 30};
  if (!backend()->device_pointers)
    return;
  problem p;
  problem_create(&p, order, dims, of(60000), ncomps, type);
  tiles_are_right(&p, alone(), sizes, sizeof sizes / sizeof sizes[0]);
  problem_free(&p);
  check_no_leak();
}

START_TEST(tiles_of_order_3) {
  tiles_change_nothing(3, (const uint64_t[]){1501, 300, 77}, 16, AMPED_F32);
}

START_TEST(tiles_of_order_4) {
  tiles_change_nothing(4, (const uint64_t[]){40, 2000, 30, 11}, 33, AMPED_F64);
}

START_TEST(tiles_of_order_5) {
  tiles_change_nothing(5, (const uint64_t[]){9, 8, 7, 600, 5}, 8, AMPED_F32);
}

START_TEST(tiles_of_order_6) {
  tiles_change_nothing(6, (const uint64_t[]){5, 3, 9, 1, 4, 70}, 130, AMPED_F64);
}

/* Rows of several columns: a thread block takes its part of the tile's rows along. */
START_TEST(shared_memory_tiles_of_wide_rows) {
  static const uint64_t dims[][4] = {{2000, 40, 30}, {700, 90, 8, 11}};
  static const uint64_t sizes[] = {4096, 20000};
  if (!backend()->device_pointers)
    return;
  for (int i = 0; i < 4; i++) {
    problem p;
    problem_create(&p, 3 + i % 2, dims[i % 2], of(30000), i < 2 ? 130 : 300,
                   i < 2 ? AMPED_F64 : AMPED_F32);
    tiles_are_right(&p, alone(), sizes, sizeof sizes / sizeof sizes[0]);
    problem_free(&p);
  }
  check_no_leak();
}

/* Tiles too large for shared memory. */
START_TEST(tiles_of_the_l2_cache) {
  static const uint64_t dims[][5] = {{20000, 9, 30}, {7, 8, 15000, 3}, {30000, 2, 3, 5, 4}};
  static const uint64_t sizes[] = {300000, 1000000};
  static const int widths[] = {33, 16, 40};
  if (!backend()->device_pointers)
    return;
  for (int i = 0; i < 3; i++) {
    problem p;
    problem_create(&p, 3 + i, dims[i], of(20000), widths[i], i == 1 ? AMPED_F64 : AMPED_F32);
    tiles_are_right(&p, alone(), sizes, sizeof sizes / sizeof sizes[0]);
    problem_free(&p);
  }
  check_no_leak();
}

/* One row holds nearly everything: predecessors of blocks in every tile. */
START_TEST(tiles_of_long_rows) {
  static const uint64_t dims[][3] = {{1, 30000, 1001}, {2, 3, 60013}, {40001, 3, 500}};
  static const uint64_t sizes[] = {4096, 65536};
  if (!backend()->device_pointers)
    return;
  for (int i = 0; i < 3; i++) {
    problem p;
    problem_create(&p, 3, dims[i], of(300000), 32, AMPED_F32);
    tiles_are_right(&p, alone(), sizes, sizeof sizes / sizeof sizes[0]);
    problem_free(&p);
  }
  check_no_leak();
}

START_TEST(tiles_with_64_bit_positions) {
  static const uint64_t dims[] = {300, 2000, 70};
  static const uint64_t sizes[] = {1000, 30000};
  setup how = alone();
  if (!backend()->device_pointers)
    return;
  problem p;
  problem_create(&p, 3, dims, of(50000), 20, AMPED_F64);
  how.index_type = AMPED_U64;
  tiles_are_right(&p, how, sizes, sizeof sizes / sizeof sizes[0]);
  problem_free(&p);
  check_no_leak();
}

/* Are mode's last tiles gone through part by part, as on an H200? */
static bool is_parted(const bench *s, int mode, uint64_t tile_bytes) {
  static const amped_caches_cuda h200 = {.multiprocessors = 132,
                                         .l2_bytes = UINT64_C(60) << 20,
                                         .shared_bytes = UINT64_C(227) << 10,
                                         .groups = true};
  amped_tiles_cuda tiles;
  amped_tiles_cuda_choose(&tiles, &s->plan, mode, &h200, tile_bytes);
  return tiles.count > 1 && tiles.parts > 1;
}

/* Some tiles, or all, are gone through part by part: where the output is too large for several, as
 * mode 0's is here. Rows are read as soon as their part is said to be finished. CPUs have parts,
 * but no tiles. */
static void parts_of_tiles_are_right(const uint64_t *dims, int ncomps, amped_vtype type,
                                     uint64_t tile_bytes, int parts, double travel) {
  setup how = alone();
  problem p;
  bench s;
  how.options.tile_bytes = backend()->device_pointers ? tile_bytes : AMPED_TILES_AUTO;
  how.parts = parts;
  how.travel = travel;
  problem_create(&p, 3, dims, of(60000), ncomps, type);
  bench_plan(&s, &p, &how);
  bench_load(&s);
  ck_assert(is_parted(&s, 0, tile_bytes));
  mttkrp_is_right(&s, 0);
  mode_repeats(&s, 0);
  set_ncomps(&s, 16);
  mttkrp_is_right(&s, 0);
  set_ncomps(&s, ncomps);
  mttkrp_is_right(&s, 0);
  bench_close(&s);
  problem_free(&p);
}

START_TEST(tiles_in_parts) {
  static const uint64_t dims[] = {60001, 300, 77};
  static const uint64_t longer[] = {200003, 300, 77};
  parts_of_tiles_are_right(dims, 130, AMPED_F64, 20000, 3, 0.1);   /* shared-memory tiles, a few */
  parts_of_tiles_are_right(dims, 130, AMPED_F64, 64000, 8, 0.25);  /* half of them */
  parts_of_tiles_are_right(dims, 130, AMPED_F64, 300000, 2, 10.0); /* all; of the L2 cache */
  parts_of_tiles_are_right(longer, 130, AMPED_F32, 40000, 4, 0.3);
  parts_of_tiles_are_right(longer, 65, AMPED_F64, 100000, 5, 0.01);
  check_no_leak();
}

TESTING_MAIN("tiles", tiles_of_order_3, tiles_of_order_4, tiles_of_order_5, tiles_of_order_6,
             shared_memory_tiles_of_wide_rows, tiles_of_the_l2_cache, tiles_of_long_rows,
             tiles_with_64_bit_positions, tiles_in_parts)
