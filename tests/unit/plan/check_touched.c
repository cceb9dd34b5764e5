/* Touched rows: numbers go by owner, and no iDp has two. */
#include "plan/touched.h"
#include "tensor/partition.h"
#include "base/random.h"
#include "tests/lib/testing.h"

START_TEST(owners_have_all_rows) {
  for (int nranks = 1; nranks <= 5; nranks++)
    for (uint64_t dim = 0; dim < 1500; dim += 1 + dim / 7) {
      uint64_t sum = 0;
      uint64_t counts[5] = {0};
      for (uint64_t i = 0; i < dim; i++) {
        const int owner = amped_stream_owner(i, nranks);
        const uint64_t slot = amped_stream_slot(i, nranks);
        ck_assert_int_lt(owner, nranks);
        ck_assert_uint_eq(slot, counts[owner]++); /* as rows ascend, so do slots */
        ck_assert_uint_eq(amped_stream_index(slot, owner, nranks), i);
      }
      for (int p = 0; p < nranks; p++) {
        ck_assert_uint_eq(amped_stream_own_rows(dim, p, nranks), counts[p]);
        sum += counts[p];
      }
      ck_assert_uint_eq(sum, dim);
    }
}

static void numbers_are_right(uint64_t count, uint64_t step, int nranks) {
  amped_touched t;
  uint64_t *rows = NULL;
  check_ok(amped_alloc(&rows, count, sizeof *rows, "a test"));
  for (uint64_t k = 0; k < count; k++)
    rows[k] = 5 + k * step;
  check_ok(amped_touched_create(&t, rows, count, nranks));
  const uint64_t width = amped_partition_width(t.dim);
  bool *taken = NULL;
  check_ok(amped_calloc(&taken, t.dim, sizeof *taken, "a test"));
  ck_assert_uint_le(t.dim, count + (uint64_t)nranks * width + count / 8);
  for (uint64_t k = 0; k < count; k++) {
    const uint64_t number = t.numbers[k];
    ck_assert_uint_lt(number, t.dim);
    ck_assert(!taken[number]);
    taken[number] = true;
    ck_assert_int_eq(t.owners[number / width], amped_stream_owner(t.rows[k], nranks));
  }
  amped_free(taken);
  amped_touched_free(&t);
}

START_TEST(an_idp_has_one_owner) {
  for (int nranks = 1; nranks <= 4; nranks++) {
    numbers_are_right(1, 1, nranks);
    numbers_are_right(100, 1, nranks);
    numbers_are_right(1000, 64 * 4, nranks); /* all are of one rank */
    numbers_are_right(65536, 3, nranks);
    numbers_are_right(65537, 3, nranks);
    numbers_are_right(131072, 1, nranks);
    numbers_are_right(200003, 7, nranks);
  }
  check_no_leak();
}

/* Entry k of `count` has one of `different` rows, `step` apart; the last row is dim - 1 - spare. */
static void rows_are_found(uint64_t count, uint64_t different, uint64_t step, uint64_t spare) {
  const uint64_t dim = (different - 1) * step + 1 + spare;
  uint64_t *indices = NULL;
  uint64_t *places = NULL;
  uint64_t *rows = NULL;
  uint64_t found = 0;
  check_ok(amped_alloc(&indices, count, sizeof *indices, "a test"));
  check_ok(amped_alloc(&places, count, sizeof *places, "a test"));
  for (uint64_t k = 0; k < count; k++)
    indices[k] = (k < different ? different - 1 - k : amped_mix64(k) % different) * step;
  check_ok(amped_touched_find(indices, count, dim, places, &rows, &found));
  ck_assert_uint_eq(found, different);
  for (uint64_t j = 0; j < found; j++)
    ck_assert_uint_eq(rows[j], j * step);
  for (uint64_t k = 0; k < count; k++)
    ck_assert_uint_eq(rows[places[k]], indices[k]);
  amped_free(indices);
  amped_free(places);
  amped_free(rows);
}

/* Few rows for their entries, which have a bit each, and many, which are sorted. */
START_TEST(different_rows_are_found) {
  rows_are_found(1, 1, 1, 0);
  rows_are_found(1, 1, 1, UINT64_C(1) << 62);
  rows_are_found(100, 100, 64, 0);
  rows_are_found(100, 100, 64, 64);
  rows_are_found(1000, 7, 1000, 63);
  rows_are_found(1000, 7, UINT64_C(1) << 40, 3);
  rows_are_found(100000, 70000, 60, 5);
  rows_are_found(100000, 70000, 600, 5);
  rows_are_found(100000, 3, 1, 0);
  check_no_leak();
}

START_TEST(short_memory_fails_the_search) {
  const uint64_t indices[] = {7, 3, 7};
  for (uint64_t dim = 8; dim < 10000; dim += 9000)
    for (int64_t k = 0; k < 4; k++) {
      uint64_t places[3];
      uint64_t *rows = NULL;
      uint64_t found = 0;
      amped_mem_fail_at(k);
      check_fails(AMPED_FAILED, "memory",
                  amped_touched_find(indices, 3, dim, places, &rows, &found));
      amped_mem_fail_at(-1);
      ck_assert_ptr_null(rows);
    }
  check_no_leak();
}

START_TEST(short_memory_is_an_error) {
  for (int64_t k = 0; k < 3; k++) {
    amped_touched t;
    uint64_t *rows = NULL;
    check_ok(amped_calloc(&rows, 1, sizeof *rows, "a test"));
    amped_mem_fail_at(k);
    check_fails(AMPED_FAILED, "memory", amped_touched_create(&t, rows, 1, 2));
    amped_mem_fail_at(-1);
  }
  check_no_leak();
}

TESTING_MAIN("touched", owners_have_all_rows, an_idp_has_one_owner, different_rows_are_found,
             short_memory_fails_the_search, short_memory_is_an_error)
