/* Tiles of a copy: where a copy is cut, and that the tiles hold its nonzeros, each in its range, in
 * the copy's order. */
#include "cpu/sorted/tiles_cpu.h"
#include "tests/lib/testing_backend.h"

static amped_cpu_tiling choose(const uint64_t *dims, uint64_t nnz, int ncomps, int mode) {
  problem p;
  bench s;
  setup how = alone();
  problem_create(&p, 3, dims, nnz, ncomps, AMPED_F32);
  bench_plan(&s, &p, &how);
  amped_cpu_tiling t = amped_cpu_tiling_choose(&s.plan, mode);
  bench_close(&s);
  problem_free(&p);
  return t;
}

START_TEST(copies_are_cut_where_rows_come_again) {
  static const uint64_t dims[] = {20, 4000, 50};
  static const uint64_t large[] = {20, 400000, 50};
  amped_cpu_tiling t = choose(dims, 40000, 32, 0); /* 4000 rows of 128 bytes */
  ck_assert_int_eq(t.count, 2);
  ck_assert_int_eq(t.input, 0);
  ck_assert_uint_eq(t.width, 2000);
  t = choose(dims, 40000, 32, 2);
  ck_assert_int_eq(t.count, 2);
  ck_assert_int_eq(t.input, 1);
  ck_assert_int_eq(choose(dims, 40000, 32, 1).count, 1);  /* both inputs fit */
  ck_assert_int_eq(choose(dims, 40000, 8, 0).count, 1);   /* so does this one */
  ck_assert_int_eq(choose(dims, 12000, 32, 0).count, 1);  /* 3 nonzeros a row */
  ck_assert_int_eq(choose(large, 40000, 32, 0).count, 1); /* 0.1 */
  check_no_leak();
}

typedef struct nonzero {
  uint64_t row, words[AMPED_MAX_PLANES];
  float value;
} nonzero;

static nonzero nonzero_at(const amped_cpu_copy *copy, uint64_t k, uint64_t entry) {
  nonzero x = {.row = amped_index_get(copy->row_list, copy->index_type, entry)};
  amped_packed_get(copy->packing, (const void *const *)copy->planes, k, x.words);
  x.value = copy->values != NULL ? ((const float *)copy->values)[k] : 0.0F;
  return x;
}

static bool bit(const uint32_t *words, uint64_t k) {
  return words[k / 32] >> k % 32 & 1;
}

/* The nonzeros of a copy one behind another. */
static nonzero *unpack(const amped_cpu_copy *copy) {
  nonzero *out = NULL;
  uint64_t entry = 0;
  check_ok(amped_alloc(&out, copy->nnz, sizeof *out, "a test"));
  for (uint64_t k = 0; k < copy->nnz; k++) {
    entry += k > 0 && bit(copy->row_bits, k);
    out[k] = nonzero_at(copy, k, entry);
    if (k % copy->packing->pack == 0)
      ck_assert_uint_eq(amped_index_get(copy->row_table, copy->index_type, k / copy->packing->pack),
                        entry);
    bool row = k == 0 || out[k].row != out[k - 1].row;
    ck_assert(bit(copy->row_bits, k) == row);
    uint64_t shift = copy->packing->shifts[0];
    uint64_t bits = copy->packing->bits[0];
    bool same = k > 0 && amped_packed_field(out[k].words, (unsigned)shift, (unsigned)bits) ==
                             amped_packed_field(out[k - 1].words, (unsigned)shift, (unsigned)bits);
    ck_assert(bit(copy->fibre_bits, k) == (row || !same));
  }
  ck_assert_uint_eq(copy->rows, copy->nnz > 0 ? entry + 1 : 0);
  return out;
}

/* Fill a copy of mode 0 with nnz nonzeros of random positions, in ascending rows. */
static void fill(amped_cpu_copy *copy, const amped_plan *plan, uint64_t nnz) {
  void *arrays[4];
  amped_batch batch = {.count = nnz};
  for (int i = 0; i < 4; i++)
    check_ok(amped_alloc(&arrays[i], nnz, i < 3 ? plan->index_type : plan->value_type, "a test"));
  for (uint64_t k = 0; k < nnz; k++) {
    amped_index_put(arrays[0], plan->index_type, k, k * plan->dims[0] / nnz);
    amped_index_put(arrays[1], plan->index_type, k, amped_random_u64(1, 0, k) % plan->dims[1]);
    amped_index_put(arrays[2], plan->index_type, k, amped_random_u64(2, 0, k) % plan->dims[2]);
    amped_value_put(arrays[3], plan->value_type, k, (double)k);
  }
  batch.rows = arrays[0];
  batch.inputs[0] = arrays[1];
  batch.inputs[1] = arrays[2];
  batch.values = arrays[3];
  check_ok(amped_cpu_copy_create(copy, plan, 0, nnz, amped_plan_copy_rows(plan, 0)));
  check_ok(amped_cpu_copy_add(copy, plan, 0, NULL, 0, &batch, 2));
  for (int i = 0; i < 4; i++)
    amped_free(arrays[i]);
}

static void tiles_hold(const nonzero *want, uint64_t nnz, const amped_cpu_copy *tile,
                       uint64_t first, uint64_t end, const amped_cpu_tiling *tiling) {
  nonzero *got = unpack(tile);
  uint64_t at = 0;
  for (uint64_t k = 0; k < nnz; k++) {
    const amped_packing *p = tile->packing;
    uint64_t position =
        amped_packed_field(want[k].words, p->shifts[tiling->input], p->bits[tiling->input]);
    if (position < first || position >= end)
      continue;
    ck_assert_uint_lt(at, tile->nnz);
    ck_assert_uint_eq(got[at].row, want[k].row);
    ck_assert_mem_eq(got[at].words, want[k].words, (size_t)p->words * sizeof *want[k].words);
    ck_assert(got[at].value == want[k].value);
    at++;
  }
  ck_assert_uint_eq(at, tile->nnz);
  amped_free(got);
}

START_TEST(tiles_hold_the_nonzeros_in_their_order) {
  static const uint64_t dims[] = {19, 23000, 7};
  const uint64_t nnz = 150001; /* some chunks */
  problem p;
  bench s;
  setup how = alone();
  problem_create(&p, 3, dims, nnz, 32, AMPED_F32);
  for (int i = 0; i < 2; i++) {
    amped_cpu_copy copy = {0};
    amped_cpu_copy *tiles = NULL;
    how.index_type = i == 0 ? AMPED_U32 : AMPED_U64;
    bench_plan(&s, &p, &how);
    amped_cpu_tiling t = amped_cpu_tiling_choose(&s.plan, 0);
    ck_assert_int_eq(t.count, 12);
    fill(&copy, &s.plan, nnz);
    nonzero *want = unpack(&copy);
    check_ok(amped_cpu_tiles_cut(&copy, &s.plan, 0, &t, 1 + i, &tiles));
    for (int n = 0; n < t.count; n++)
      tiles_hold(want, nnz, &tiles[n], (uint64_t)n * t.width, (uint64_t)(n + 1) * t.width, &t);
    amped_cpu_copy_free(&copy);
    amped_free(tiles);
    amped_free(want);
    bench_close(&s);
  }
  problem_free(&p);
  check_no_leak();
}

TESTING_MAIN("tiles of copies on CPUs", copies_are_cut_where_rows_come_again,
             tiles_hold_the_nonzeros_in_their_order)
