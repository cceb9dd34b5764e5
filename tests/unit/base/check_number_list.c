/* Lists of numbers and ranges, as users write them. */
#include "base/number_list.h"
#include "tests/lib/testing.h"

static amped_number_list list;

START_TEST(numbers_and_ranges_keep_their_order) {
  static const int numbers[] = {9, 1, 4, 5, 6};
  ck_assert(amped_number_list_parse("9,1,4-6", &list));
  ck_assert_int_eq(list.count, 5);
  for (int i = 0; i < list.count; i++)
    ck_assert_int_eq(list.numbers[i], numbers[i]);
  ck_assert(amped_number_list_parse("3-3", &list) && list.count == 1 && list.numbers[0] == 3);
}

START_TEST(lists_end_with_their_room) {
  ck_assert(amped_number_list_parse("1-1024", &list) && list.count == AMPED_MAX_NCOMPS);
  ck_assert(list.numbers[0] == 1 && list.numbers[1023] == 1024);
  ck_assert(!amped_number_list_parse("1-1025", &list));
  ck_assert(!amped_number_list_parse("99999999999999999999", &list));
}

START_TEST(malformed_lists_are_refused) {
  static const char *const texts[] = {"",   ",",     "1,",    ",1",  "1,,2", "0",  "0-3", "-3",
                                      "3-", "3-1",   "1-3,2", "2,2", "1 ",   " 1", "1K",  "1.5",
                                      "a",  "1-2-3", "1;2",   "+1",  "1-a",  "all"};
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
    ck_assert_msg(!amped_number_list_parse(texts[i], &list), "'%s' was taken", texts[i]);
}

START_TEST(numbers_above_a_bound_are_found) {
  ck_assert(amped_number_list_parse("2,8-9", &list));
  ck_assert_int_eq(amped_number_list_above(&list, 9), 0);
  ck_assert_int_eq(amped_number_list_above(&list, 7), 8);
  list.count = 0;
  ck_assert_int_eq(amped_number_list_above(&list, 1), 0);
}

TESTING_MAIN("number_list", numbers_and_ranges_keep_their_order, lists_end_with_their_room,
             malformed_lists_are_refused, numbers_above_a_bound_are_found)
