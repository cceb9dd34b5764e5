/* Huge pages: where it begins, that it is zeroed to the last byte, and what happens when there is
 * none. */
#include "base/huge_pages.h"
#include "tests/lib/testing.h"

static bool all_zero(const char *data, uint64_t bytes) {
  for (uint64_t i = 0; i < bytes; i++)
    if (data[i] != 0)
      return false;
  return true;
}

START_TEST(it_is_zero_and_begins_at_a_bound) {
  static const uint64_t page = UINT64_C(2) << 20;
  const uint64_t sizes[] = {1, 63, 64, 65, page / 4 - 1, page / 4, page - 1, page, 3 * page + 7};
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
    for (int threads = 1; threads <= 3; threads++) {
      char *dirty = NULL; /* so that the heap hands out used memory */
      char *data = NULL;
      check_ok(amped_alloc(&dirty, sizes[i], 1, "a test"));
      memset(dirty, 0xa5, sizes[i]);
      amped_free(dirty);
      check_ok(amped_huge_pages_calloc(&data, sizes[i], 1, threads, "a test"));
      ck_assert_uint_eq((uintptr_t)data % (sizes[i] < page / 4 ? 64 : page), 0);
      ck_assert(all_zero(data, sizes[i]));
      memset(data, 0x5a, sizes[i]);
      amped_huge_pages_free(data);
    }
  check_no_leak();
}

START_TEST(no_bytes_are_no_block) {
  void *data = &data;
  check_ok(amped_huge_pages_alloc(&data, 0, 8, "a test"));
  ck_assert_ptr_null(data);
  amped_huge_pages_free(data);
  check_ok(amped_huge_pages_calloc(&data, 8, 0, 2, "a test"));
  ck_assert_ptr_null(data);
  check_no_leak();
}

START_TEST(what_does_not_fit_is_an_error) {
  static const uint64_t counts[] = {UINT64_MAX, UINT64_MAX / 8, UINT64_MAX / 8 - 100000};
  for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
    void *data = &data;
    check_fails(AMPED_FAILED, "a test", amped_huge_pages_alloc(&data, counts[i], 8, "a test"));
    ck_assert_ptr_null(data);
  }
  void *data = &data;
  amped_mem_fail_at(0);
  check_fails(AMPED_FAILED, "a test", amped_huge_pages_calloc(&data, 100, 8, 2, "a test"));
  ck_assert_ptr_null(data);
  check_no_leak();
}

TESTING_MAIN("huge_pages", it_is_zero_and_begins_at_a_bound, no_bytes_are_no_block,
             what_does_not_fit_is_an_error)
