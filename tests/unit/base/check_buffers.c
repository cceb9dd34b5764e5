/* Lists of buffers: their bytes, their life, and failures. */
#include "base/buffers.h"
#include "base/huge_pages.h"
#include "tests/lib/testing.h"

typedef struct work {
  double *rows;
  char *zeroed;
  uint64_t *large, *spread, *absent;
} work;

static amped_buffers buffers(work *w, uint64_t n) {
  amped_buffers b = {.what = "a test", .threads = 2};
  AMPED_BUFFER(&b, HOST, w->rows, 2 * n);
  AMPED_BUFFER(&b, ZEROED, w->zeroed, n);
  AMPED_BUFFER(&b, LARGE, w->large, n);
  AMPED_BUFFER(&b, SPREAD, w->spread, n);
  AMPED_BUFFER(&b, HOST, w->absent, 0);
  return b;
}

START_TEST(a_list_is_allocated_and_freed) {
  work w = {NULL};
  check_ok(amped_buffers_allocate(buffers(&w, 1001)));
  ck_assert_ptr_null(w.absent);
  ck_assert_int_eq(amped_mem_live(), 4);
  ck_assert_int_ge(amped_mem_bytes(AMPED_MEM_HOST), 1001 * 33);
  for (int i = 0; i < 1001; i++)
    ck_assert(w.zeroed[i] == 0 && w.spread[i] == 0);
  amped_buffers_free(buffers(&w, 0));
  ck_assert(w.rows == NULL && w.zeroed == NULL && w.large == NULL && w.spread == NULL);
  ck_assert_int_eq(amped_mem_bytes(AMPED_MEM_HOST), 0);
  ck_assert_int_ge(amped_mem_peak(AMPED_MEM_HOST), 1001 * 33);
  check_no_leak();
}

START_TEST(a_failure_leaves_what_free_frees) {
  for (int64_t k = 0; k < 4; k++) {
    work w = {NULL};
    amped_mem_fail_at(k);
    check_fails(AMPED_FAILED, "a test", amped_buffers_allocate(buffers(&w, 9)));
    amped_mem_fail_at(-1);
    ck_assert_int_eq(amped_mem_live(), k);
    amped_buffers_free(buffers(&w, 9));
    check_no_leak();
  }
}

START_TEST(bytes_are_added_up) {
  work w = {NULL};
  uint64_t device = 7;
  uint64_t host = 5;
  const uint64_t bytes = 10 * 17 + 2 * amped_huge_pages_bytes(80);
  amped_buffers b = buffers(&w, 10);
  amped_buffers_require(b, &device, &host);
  ck_assert_uint_eq(host, 5 + bytes);
  ck_assert_uint_eq(amped_buffers_bytes(b), 10 * 33);
  ck_assert_uint_eq(device, 7);
  AMPED_BUFFER_OF(&b, ARENA, w.rows, 0, 1);
  AMPED_BUFFER(&b, PART, w.rows, 33);
  AMPED_BUFFER(&b, PART, w.large, 1);
  AMPED_BUFFER(&b, DEVICE, w.spread, 1);
  AMPED_BUFFER(&b, PINNED, w.spread, 1);
  amped_buffers_require(b, &device, &host);
  ck_assert_uint_eq(device, 7 + 512 + 256 + 8);
  ck_assert_uint_eq(host, 5 + 2 * bytes + 8);
}

START_TEST(too_many_bytes_do_not_wrap) {
  work w = {NULL};
  uint64_t device = 0;
  uint64_t host = 1;
  amped_buffers_require(buffers(&w, UINT64_MAX / 4), &device, &host);
  ck_assert_uint_eq(host, UINT64_C(1) << 63);
  check_fails(AMPED_FAILED, "a test", amped_buffers_allocate(buffers(&w, UINT64_MAX / 4)));
}

TESTING_MAIN("buffers", a_list_is_allocated_and_freed, a_failure_leaves_what_free_frees,
             bytes_are_added_up, too_many_bytes_do_not_wrap)
