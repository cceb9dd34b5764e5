/* Touched rows: numbers go by owner, and no iDp has two. */
#include "plan/touched.h"
#include "tensor/partition.h"
#include "base/random.h"
#include "base/sort.h"
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

/* Rows are `rows`, each has one number, and iDps have one owner. */
static void check_touched(const amped_touched *t, const uint64_t *rows, uint64_t count,
                          int nranks) {
  const uint64_t width = amped_partition_width(t->dim);
  uint64_t last[5] = {0};
  bool *taken = NULL;
  check_ok(amped_calloc(&taken, t->dim, sizeof *taken, "a test"));
  ck_assert_uint_eq(t->count, count);
  ck_assert_uint_le(t->dim, count + (uint64_t)nranks * width + count / 8);
  uint64_t wrong = 0; /* one assertion for all: there are millions of them */
  for (uint64_t k = 0; k < count; k++) {
    const uint64_t number = amped_touched_number(t, k);
    const int owner = amped_stream_owner(rows[k], nranks);
    const bool exists = number < t->dim;
    wrong += t->rows[k] != rows[k] || !exists || taken[number] ||
             t->owners[number / width] != owner ||
             (last[owner] != 0 && number != last[owner]); /* in the order of rows */
    if (exists)
      taken[number] = true;
    last[owner] = number + 1;
  }
  ck_assert_uint_eq(wrong, 0);
  amped_free(taken);
}

/* Entries have the numbers of their rows, in any type that holds them. */
static void check_numbers(const amped_touched *t, const uint64_t *indices, uint64_t count) {
  uint64_t *numbers = NULL;
  uint64_t wrong = 0;
  check_ok(amped_alloc(&numbers, count, sizeof *numbers, "a test"));
  for (int wide = 0; wide < 2; wide++) {
    const amped_itype type = wide ? AMPED_U64 : amped_itype_for(t->dim);
    amped_touched_number_all(t, indices, count, type, numbers);
    for (uint64_t k = 0; k < count; k++)
      wrong += amped_index_get(numbers, type, k) !=
               amped_touched_number(t, amped_sort_find(t->rows, t->count, indices[k]));
  }
  ck_assert_uint_eq(wrong, 0);
  amped_free(numbers);
}

static amped_status find(amped_touched *t, const uint64_t *indices, uint64_t count, uint64_t dim,
                         bool by_bits, int nranks) {
  uint64_t *bits = NULL;
  if (!by_bits)
    return amped_touched_of_indices(t, indices, count, nranks);
  memset(t, 0, sizeof *t);
  AMPED_TRY(amped_touched_mark(indices, count, dim, &bits));
  const amped_status status = amped_touched_of_bits(t, bits, dim, nranks);
  amped_free(bits);
  return status;
}

/* Entry k of `count` has one of `different` rows, `step` apart; the last row is dim - 1 - spare. */
static void rows_are_found(uint64_t count, uint64_t different, uint64_t step, uint64_t spare) {
  const uint64_t dim = (different - 1) * step + 1 + spare;
  uint64_t *indices = NULL;
  uint64_t *rows = NULL;
  check_ok(amped_alloc(&indices, count, sizeof *indices, "a test"));
  check_ok(amped_alloc(&rows, different, sizeof *rows, "a test"));
  for (uint64_t k = 0; k < count; k++)
    indices[k] = (k < different ? different - 1 - k : amped_mix64(k) % different) * step;
  for (uint64_t j = 0; j < different; j++)
    rows[j] = j * step;
  for (int nranks = 1; nranks <= 5; nranks++)
    for (int by_bits = 0; by_bits < 2; by_bits++) {
      amped_touched t;
      if (by_bits && dim > UINT64_C(1) << 30)
        continue;
      check_ok(find(&t, indices, count, dim, by_bits, nranks));
      check_touched(&t, rows, different, nranks);
      check_numbers(&t, indices, count);
      amped_touched_free(&t);
    }
  amped_free(indices);
  amped_free(rows);
}

START_TEST(different_rows_are_found) {
  rows_are_found(1, 1, 1, 0);
  rows_are_found(1, 1, 1, UINT64_C(1) << 62);
  rows_are_found(100, 100, 1, 0);
  rows_are_found(100, 100, 64, 64);
  rows_are_found(1000, 7, 1000, 63);
  rows_are_found(1000, 1000, 64 * 4, 0); /* of four ranks, all are of one */
  rows_are_found(1000, 7, UINT64_C(1) << 40, 3);
  rows_are_found(65536, 65536, 3, 0);
  rows_are_found(65537, 65537, 3, 0);
  rows_are_found(100000, 70000, 60, 5);
  rows_are_found(100000, 3, 1, 0);
  rows_are_found(200003, 131072, 7, 0);
  check_no_leak();
}

START_TEST(few_entries_are_sorted) {
  ck_assert(amped_touched_has_bits(1, 64));
  ck_assert(amped_touched_has_bits(1000, 64000));
  ck_assert(!amped_touched_has_bits(1000, UINT64_C(1) << 40));
}

START_TEST(short_memory_is_an_error) {
  const uint64_t indices[] = {7, 3, 7};
  for (int by_bits = 0; by_bits < 2; by_bits++)
    for (int64_t k = 0;; k++) {
      amped_touched t;
      amped_mem_fail_at(k);
      const amped_status status = find(&t, indices, 3, 100, by_bits, 2);
      amped_mem_fail_at(-1);
      if (status == AMPED_OK) {
        amped_touched_free(&t);
        ck_assert_int_gt(k, 4);
        break;
      }
      check_fails(AMPED_FAILED, "memory", status);
      ck_assert_ptr_null(t.rows);
    }
  check_no_leak();
}

TESTING_MAIN("touched", owners_have_all_rows, different_rows_are_found, few_entries_are_sorted,
             short_memory_is_an_error)
