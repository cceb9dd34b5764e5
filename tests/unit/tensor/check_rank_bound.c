/* Rank bound: fibres of the longest mode, nonzeros, sizes that overflow. */
#include "tensor/rank_bound.h"
#include "tests/lib/testing.h"

static void check_bound(int order, const uint64_t *dims, uint64_t nnz, uint64_t ncomps,
                        bool by_nonzeros) {
  const amped_rank_bound bound = amped_rank_bound_of(order, dims, nnz);
  ck_assert_uint_eq(bound.ncomps, ncomps);
  ck_assert(bound.by_nonzeros == by_nonzeros);
}

START_TEST(fibres_or_nonzeros_bound_the_rank) {
  check_bound(3, (uint64_t[]){3, 4, 5}, 60, 12, false);
  check_bound(3, (uint64_t[]){5, 3, 4}, 12, 12, false);
  check_bound(3, (uint64_t[]){4, 5, 3}, 11, 11, true);
  check_bound(4, (uint64_t[]){2, 2, 2, 2}, 100, 8, false);
  check_bound(3, (uint64_t[]){7, 1, 1}, 7, 1, false);
}

START_TEST(products_beyond_64_bits_do_not_bound) {
  const uint64_t large = UINT64_C(1) << 40;
  check_bound(3, (uint64_t[]){large, large, large}, 1000, 1000, true);
  check_bound(4, (uint64_t[]){large, 3, large, large}, UINT64_MAX, UINT64_MAX, false);
}

TESTING_MAIN("rank_bound", fibres_or_nonzeros_bound_the_rank, products_beyond_64_bits_do_not_bound)
