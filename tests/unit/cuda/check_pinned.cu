/* Pinned blocks come from a thread in their order, and a failure reaches whoever waits for what is
 * missing, and nobody else. Needs a GPU. */
#include "cuda/device/pinned_cuda.h"

#include <cstring>

extern "C" {
#include "tests/lib/testing.h"
}

static const uint64_t sizes[] = {1, 4096, 5000000, 1, 70000000};
static const uint64_t count = sizeof sizes / sizeof sizes[0];

START_TEST(blocks_can_be_waited_for_in_any_order) {
  static const uint64_t order[] = {4, 0, 3, 3, 1, 2};
  amped_pinned_cuda p = {};
  check_ok(amped_pinned_cuda_start(&p, count, sizes));
  for (uint64_t i : order) {
    void *block = nullptr;
    check_ok(amped_pinned_cuda_wait(&p, i, &block));
    ck_assert_ptr_nonnull(block);
    memset(block, 1, sizes[i]);
  }
  amped_pinned_cuda_stop(&p);
  check_no_leak();
}

START_TEST(stopping_does_not_wait_for_all) {
  for (uint64_t n = 0; n <= count; n++) {
    amped_pinned_cuda p = {};
    void *block = nullptr;
    check_ok(amped_pinned_cuda_start(&p, count, sizes));
    if (n < count)
      check_ok(amped_pinned_cuda_wait(&p, n, &block));
    amped_pinned_cuda_stop(&p);
  }
  amped_pinned_cuda none = {};
  check_ok(amped_pinned_cuda_start(&none, 0, nullptr));
  amped_pinned_cuda_stop(&none);
  check_no_leak();
}

START_TEST(a_failure_is_told_to_those_who_wait_for_it) {
  static const uint64_t bytes[] = {5000000, UINT64_C(1) << 60, 4096};
  amped_pinned_cuda p = {};
  void *block = nullptr;
  check_ok(amped_pinned_cuda_start(&p, 3, bytes));
  check_fails(AMPED_FAILED, "locked memory", amped_pinned_cuda_wait(&p, 1, &block));
  check_fails(AMPED_FAILED, "locked memory", amped_pinned_cuda_wait(&p, 2, &block));
  ck_assert_ptr_null(block);
  check_ok(amped_pinned_cuda_wait(&p, 0, &block));
  ck_assert_ptr_nonnull(block);
  amped_pinned_cuda_stop(&p);
  check_no_leak();
}

TESTING_MAIN("pinned", blocks_can_be_waited_for_in_any_order, stopping_does_not_wait_for_all,
             a_failure_is_told_to_those_who_wait_for_it)
