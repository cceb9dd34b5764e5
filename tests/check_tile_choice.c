/* How copies are ordered for a GPU's caches, and what these are asked to hold: made-up plans of
 * known shapes, for an H200. */
#include "testing.h"
#include "tiles_cuda.h"

#define MULTIPROCESSORS 132
#define L2_BYTES (UINT64_C(50) << 20)

typedef struct made_up {
  amped_plan plan;
  uint64_t nnz;
  uint64_t rows[AMPED_MAX_ORDER];
} made_up;

static void make(made_up *u, int order, const uint64_t *dims, uint64_t nnz) {
  memset(u, 0, sizeof *u);
  u->nnz = nnz;
  u->plan.order = order;
  u->plan.ld = 32;
  u->plan.value_type = AMPED_F32;
  for (int m = 0; m < order; m++) {
    u->rows[m] = dims[m];
    u->plan.modes[m].positions = dims[m];
    u->plan.modes[m].rank_nnz = &u->nnz;
    u->plan.modes[m].rank_rows = &u->rows[m];
  }
}

static amped_tiles_cuda choose(const made_up *u, int mode, uint64_t tile_bytes) {
  amped_tiles_cuda t;
  amped_tiles_cuda_choose(&t, &u->plan, mode, MULTIPROCESSORS, L2_BYTES, tile_bytes);
  return t;
}

static int near(const made_up *u, int mode) {
  amped_tiles_cuda t = choose(u, mode, AMPED_TILES_AUTO);
  return amped_tiles_cuda_near(&u->plan, mode, &t, L2_BYTES);
}

/* Rows of 128 bytes: factors of 617, 227 and 231 MB; long output rows. */
START_TEST(large_factors_are_tiled) {
  static const uint64_t amazon[] = {4821207, 1774269, 1805187};
  made_up u;
  make(&u, 3, amazon, 500000000);
  for (int mode = 0; mode < 3; mode++) {
    amped_hint_cuda hints[2];
    amped_tiles_cuda t = choose(&u, mode, AMPED_TILES_AUTO);
    ck_assert_uint_gt(t.count, 1);
    ck_assert_uint_le(t.rows * 128, L2_BYTES);
    amped_tiles_cuda_hint(hints, &u.plan, mode, &t, L2_BYTES);
    ck_assert_int_eq(hints[t.input], AMPED_HINT_KEEP);
    ck_assert_int_eq(hints[1 - t.input], AMPED_HINT_PASS);
    ck_assert_int_eq(near(&u, mode), -1);
    ck_assert_uint_eq(choose(&u, mode, AMPED_TILES_OFF).count, 1);
  }
}

/* All of 6 MB in the L2 cache: tiles for the L1 caches, and no hints for L2. */
START_TEST(small_factors_are_tiled_for_the_nearest_cache) {
  static const uint64_t nell2[] = {12092, 9184, 28818};
  made_up u;
  make(&u, 3, nell2, 77000000);
  for (int mode = 0; mode < 3; mode++) {
    amped_hint_cuda hints[2];
    amped_tiles_cuda t = choose(&u, mode, AMPED_TILES_AUTO);
    ck_assert_uint_gt(t.count, 1);
    ck_assert_uint_le(t.rows * 128, 128 << 10);
    ck_assert_int_eq(near(&u, mode), t.input);
    amped_tiles_cuda_hint(hints, &u.plan, mode, &t, L2_BYTES);
    ck_assert(hints[0] == AMPED_HINT_NONE && hints[1] == AMPED_HINT_NONE);
  }
}

/* Mode 3 has 731 rows, 94 KB, beside factors of 41 MB to 3.6 GB. */
START_TEST(a_factor_that_fills_the_nearest_cache_is_kept_there) {
  static const uint64_t dims[] = {320000, 28000000, 1600000, 731};
  static const uint64_t tiny[] = {4000000, 46, 4000000};
  static const uint64_t small[] = {200, 300, 400};
  made_up u;
  make(&u, 4, dims, 50000000);
  for (int mode = 0; mode < 3; mode++)
    ck_assert_int_eq(near(&u, mode), 2);
  ck_assert_int_eq(near(&u, 3), -1);
  make(&u, 3, tiny, 100000000);
  ck_assert_int_eq(near(&u, 0), -1); /* 6 KB stay there unasked */
  make(&u, 3, small, 100000);
  ck_assert_int_eq(near(&u, 0), -1); /* nothing competes with them */
}

/* Few nonzeros a row: a tile's price is above its gain. */
START_TEST(short_rows_are_not_tiled) {
  static const uint64_t dims[] = {28000000, 4000000, 4000000};
  made_up u;
  make(&u, 3, dims, 50000000);
  ck_assert_uint_eq(choose(&u, 0, AMPED_TILES_AUTO).count, 1);
  ck_assert_uint_gt(choose(&u, 0, UINT64_C(16) << 20).count, 1); /* unless asked for */
}

TESTING_MAIN("tile choice", large_factors_are_tiled, small_factors_are_tiled_for_the_nearest_cache,
             a_factor_that_fills_the_nearest_cache_is_kept_there, short_rows_are_not_tiled)
