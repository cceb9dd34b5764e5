/* Copy orders: the same copies as sorting the tensor itself, with and without a thread. */
#include <omp.h>

#include "base/random.h"
#include "tensor/copy_orders.h"
#include "tests/lib/testing.h"

/* So many nonzeros are sorted behind the caller. */
#define MANY ((UINT64_C(1) << 20) + 77)

static void make(amped_sptensor *t, int order, const uint64_t *dims, uint64_t nnz) {
  check_ok(amped_sptensor_create(t, order, nnz));
  for (int m = 0; m < order; m++) {
    t->dims[m] = dims[m];
    for (uint64_t k = 0; k < nnz; k++)
      t->indices[m][k] = amped_random_u64(5, (uint64_t)m, k) % dims[m];
  }
  for (uint64_t k = 0; k < nnz; k++)
    t->values[k] = (double)k;
  check_ok(amped_sptensor_sort(t, 0));
}

/* The values tell all nonzeros apart. */
static void check_orders(const amped_sptensor *t) {
  amped_copy_orders *orders = NULL;
  amped_sptensor sorted;
  check_ok(amped_sptensor_create(&sorted, t->order, t->nnz));
  for (int m = 0; m < t->order; m++)
    memcpy(sorted.indices[m], t->indices[m], t->nnz * sizeof(uint64_t));
  memcpy(sorted.values, t->values, t->nnz * sizeof(double));
  check_ok(amped_copy_orders_begin(t, &orders));
  for (int mode = 1; mode < t->order; mode++) {
    amped_order order;
    bool same = true;
    check_ok(amped_copy_orders_next(orders, &order));
    amped_copy_orders_share(orders);
    check_ok(amped_sptensor_sort(&sorted, mode));
    ck_assert_uint_eq(order.count, t->nnz);
    for (uint64_t k = 0; k < t->nnz; k++) {
      same = same && t->values[amped_order_at(&order, k)] == sorted.values[k];
      same = same && (!order.keyed || amped_order_key(&order, k) == sorted.indices[mode][k]);
    }
    ck_assert(same);
  }
  amped_copy_orders_end(orders);
  amped_sptensor_free(&sorted);
}

START_TEST(orders_are_those_of_the_sorted_copies) {
  static const uint64_t shapes[][AMPED_MAX_ORDER] = {
      {5, 4, 3, 6, 2, 3, 7, 4},
      {1, 1, 1, 1, 1, 1, 1, 1},
      {3, AMPED_MAX_DIM, AMPED_MAX_DIM, 1, UINT64_C(1) << 33, 2, UINT64_C(1) << 54, 9}};
  for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++)
    for (int order = AMPED_MIN_ORDER; order <= AMPED_MAX_ORDER; order++)
      for (uint64_t nnz = 1; nnz < 2000; nnz *= 10) {
        amped_sptensor t;
        make(&t, order, shapes[s], nnz);
        check_orders(&t);
        amped_sptensor_free(&t);
      }
  check_no_leak();
}

START_TEST(orders_found_behind_are_the_same_for_any_number_of_threads) {
  static const uint64_t dims[] = {70, UINT64_C(1) << 40, AMPED_MAX_DIM, 30000};
  amped_sptensor t;
  make(&t, 4, dims, MANY);
  for (int threads = 1; threads <= 5; threads += 2) {
    omp_set_num_threads(threads);
    check_orders(&t);
    ck_assert_int_eq(omp_get_max_threads(), threads);
  }
  amped_sptensor_free(&t);
  check_no_leak();
}

START_TEST(an_end_before_the_last_order_waits_and_frees) {
  static const uint64_t dims[] = {70, 1000, 30000};
  amped_sptensor t;
  make(&t, 3, dims, MANY);
  for (int taken = 0; taken < 3; taken++) {
    amped_copy_orders *orders = NULL;
    amped_order order;
    check_ok(amped_copy_orders_begin(&t, &orders));
    for (int i = 0; i < taken; i++)
      check_ok(amped_copy_orders_next(orders, &order));
    amped_copy_orders_end(orders);
  }
  amped_copy_orders_end(NULL);
  amped_sptensor_free(&t);
  check_no_leak();
}

START_TEST(memory_that_runs_out_is_told_by_begin_or_next) {
  static const uint64_t dims[] = {70, 1000, 30000};
  for (int large = 0; large < 2; large++) {
    amped_sptensor t;
    make(&t, 3, dims, large != 0 ? MANY : 100);
    int failures = 0;
    for (int k = 0, done = 0; !done; k++) {
      amped_copy_orders *orders = NULL;
      amped_order order;
      amped_mem_fail_at(k);
      amped_status status = amped_copy_orders_begin(&t, &orders);
      for (int mode = 1; mode < 3 && status == AMPED_OK; mode++)
        status = amped_copy_orders_next(orders, &order);
      amped_mem_fail_at(-1);
      done = status == AMPED_OK;
      failures += !done;
      if (!done)
        ck_assert_ptr_nonnull(strstr(amped_status_message(), "out of memory"));
      amped_status_clear();
      amped_copy_orders_end(orders);
      ck_assert_int_lt(k, 20);
    }
    ck_assert_int_eq(failures, 6); /* itself, three blocks, and a table in each sort */
    amped_sptensor_free(&t);
    check_no_leak();
  }
}

TESTING_MAIN("copy_orders", orders_are_those_of_the_sorted_copies,
             orders_found_behind_are_the_same_for_any_number_of_threads,
             an_end_before_the_last_order_waits_and_frees,
             memory_that_runs_out_is_told_by_begin_or_next)
