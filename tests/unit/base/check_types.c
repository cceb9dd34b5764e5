/* Checked arithmetic, narrow types, memory accounting, random numbers. */
#include <sys/stat.h>

#include "base/random.h"
#include "base/system_memory.h"
#include "tests/lib/testing.h"

START_TEST(narrowest_index_type_holds_the_last_index) {
  ck_assert_int_eq(amped_itype_for(1), AMPED_U8);
  ck_assert_int_eq(amped_itype_for(256), AMPED_U8);
  ck_assert_int_eq(amped_itype_for(257), AMPED_U16);
  ck_assert_int_eq(amped_itype_for(65536), AMPED_U16);
  ck_assert_int_eq(amped_itype_for(65537), AMPED_U32);
  ck_assert_int_eq(amped_itype_for(UINT64_C(1) << 32), AMPED_U32);
  ck_assert_int_eq(amped_itype_for((UINT64_C(1) << 32) + 1), AMPED_U64);
}

START_TEST(elements_of_every_type_are_got_and_put) {
  static const amped_itype types[] = {AMPED_U8, AMPED_U16, AMPED_U32, AMPED_U64};
  const uint64_t guard = 77;
  for (int t = 0; t < 4; t++) {
    const uint64_t most = types[t] == AMPED_U64 ? UINT64_MAX : (UINT64_C(1) << 8 * types[t]) - 1;
    const uint64_t from[] = {most, 0, most - 5, 1};
    uint64_t array[8] = {0};
    uint64_t to[5] = {0, 0, 0, 0, guard};
    amped_index_put(array, types[t], 2, guard);
    amped_index_put(array, types[t], 7, guard);
    amped_indices_put(array, types[t], 3, 4, from);
    amped_indices_get(array, types[t], 3, 4, to);
    ck_assert_mem_eq(to, from, sizeof from);
    ck_assert_uint_eq(to[4], guard);
    for (uint64_t i = 0; i < 8; i++)
      ck_assert_uint_eq(amped_index_get(array, types[t], i), i < 2              ? 0
                                                             : i == 2 || i == 7 ? guard
                                                                                : from[i - 3]);
  }
  for (int t = 0; t < 2; t++) {
    const amped_vtype type = t == 0 ? AMPED_F32 : AMPED_F64;
    const double from[] = {0.1, -3.0, 1e30};
    double array[5] = {0.0};
    double to[4] = {0.0, 0.0, 0.0, 7.0};
    amped_values_put(array, type, 1, 3, from);
    amped_values_get(array, type, 1, 3, to);
    for (int i = 0; i < 3; i++) {
      double exact = type == AMPED_F32 ? (double)(float)from[i] : from[i];
      ck_assert(to[i] == exact && amped_value_get(array, type, (uint64_t)i + 1) == exact);
    }
    ck_assert(amped_value_get(array, type, 0) == 0.0 && amped_value_get(array, type, 4) == 0.0);
    ck_assert(to[3] == 7.0);
  }
}

START_TEST(overflow_is_seen_and_result_left_alone) {
  uint64_t out = 7;
  ck_assert(!amped_mul(UINT64_MAX / 2 + 1, 2, &out));
  ck_assert(!amped_add(UINT64_MAX, 1, &out));
  ck_assert_uint_eq(out, 7);
  ck_assert(amped_mul(UINT64_MAX, 1, &out));
  ck_assert_uint_eq(out, UINT64_MAX);
}

START_TEST(allocation_fails_where_told_and_counts_what_lives) {
  char *block = NULL;
  amped_mem_fail_at(1);
  check_ok(amped_alloc(&block, 3, 5, "a test"));
  ck_assert_int_eq(amped_mem_live(), 1);
  char *other = block;
  check_fails(AMPED_FAILED, "out of memory", amped_alloc(&other, 1, 1, "a test"));
  ck_assert_ptr_null(other);
  check_fails(AMPED_FAILED, "out of memory", amped_alloc(&other, UINT64_MAX, 2, "a test"));
  amped_free(block);
  check_no_leak();
}

START_TEST(random_numbers_are_uniform_and_depend_on_every_argument) {
  double sum = 0.0;
  int n = 100000;
  for (int i = 0; i < n; i++) {
    double u = amped_random_double(1, 2, (uint64_t)i);
    ck_assert(u >= 0.0 && u < 1.0);
    sum += u;
  }
  /* The mean of n uniform numbers has standard deviation 1/sqrt(12 n); the bound is six of them. */
  ck_assert_double_eq_tol(sum / n, 0.5, 6.0 / 1095.0);
  ck_assert_uint_ne(amped_random_u64(1, 2, 3), amped_random_u64(1, 2, 4));
  ck_assert_uint_ne(amped_random_u64(1, 2, 3), amped_random_u64(1, 3, 3));
  ck_assert_uint_ne(amped_random_u64(1, 2, 3), amped_random_u64(2, 2, 3));
}

/* Make a file of a folder, or remove it (text NULL). */
static void group_file(const char *folder, const char *name, const char *text) {
  char path[512];
  (void)snprintf(path, sizeof path, "%s/%s", folder, name);
  if (text != NULL)
    testing_write_file(path, text, strlen(text));
  else
    ck_assert_int_eq(unlink(path), 0);
}

START_TEST(files_in_memory_do_not_count_against_a_control_group) {
  const char *folder = testing_path("group");
  ck_assert_int_eq(mkdir(folder, 0777), 0);
  ck_assert(amped_mem_group_left(folder) == UINT64_MAX);
  group_file(folder, "memory.limit_in_bytes", "1000\n");
  group_file(folder, "memory.usage_in_bytes", "900\n");
  ck_assert_uint_eq(amped_mem_group_left(folder), 100);
  group_file(folder, "memory.stat",
             "inactive_file 40\nactive_file 1\ntotal_inactive_file 500\ntotal_active_file 70\n");
  ck_assert_uint_eq(amped_mem_group_left(folder), 670);
  group_file(folder, "memory.current", "700\n");
  group_file(folder, "memory.max", "600\n");
  ck_assert_uint_eq(amped_mem_group_left(folder), 0);
  group_file(folder, "memory.stat", "anon 299\ninactive_file 400\nactive_file 1\n");
  ck_assert_uint_eq(amped_mem_group_left(folder), 301);
  group_file(folder, "memory.limit_in_bytes", NULL);
  group_file(folder, "memory.max", "max\n");
  ck_assert(amped_mem_group_left(folder) == UINT64_MAX);
  group_file(folder, "memory.usage_in_bytes", NULL);
  group_file(folder, "memory.current", NULL);
  group_file(folder, "memory.max", NULL);
  group_file(folder, "memory.stat", NULL);
  ck_assert_int_eq(rmdir(folder), 0);
}

START_TEST(limit_of_a_control_group_is_of_either_version) {
  const char *folder = testing_path("limit");
  ck_assert_int_eq(mkdir(folder, 0777), 0);
  ck_assert(amped_mem_group_limit(folder) == UINT64_MAX);
  group_file(folder, "memory.limit_in_bytes", "1000\n");
  ck_assert_uint_eq(amped_mem_group_limit(folder), 1000);
  group_file(folder, "memory.max", "600\n");
  ck_assert_uint_eq(amped_mem_group_limit(folder), 600);
  group_file(folder, "memory.limit_in_bytes", NULL);
  group_file(folder, "memory.max", "max\n");
  ck_assert(amped_mem_group_limit(folder) == UINT64_MAX);
  group_file(folder, "memory.max", NULL);
  ck_assert_int_eq(rmdir(folder), 0);
}

TESTING_MAIN("types", narrowest_index_type_holds_the_last_index,
             elements_of_every_type_are_got_and_put, overflow_is_seen_and_result_left_alone,
             allocation_fails_where_told_and_counts_what_lives,
             random_numbers_are_uniform_and_depend_on_every_argument,
             files_in_memory_do_not_count_against_a_control_group,
             limit_of_a_control_group_is_of_either_version)
