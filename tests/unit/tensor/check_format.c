/* Format: JSON values that have no text of their own, and lists of them. */
#include <math.h>

#include "tensor/format.h"
#include "tensor/mode_names.h"
#include "tests/lib/testing.h"

/* Check a value's text, and free the value. */
static void is(json_t *value, const char *want) {
  char *text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
  ck_assert_str_eq(text, want);
  free(text);
  json_decref(value);
}

START_TEST(numbers) {
  const uint64_t counts[] = {0, INT64_MAX};
  const double values[] = {0.5, (double)NAN, -(double)INFINITY};
  is(amped_json_counts(counts, 2), "[0,9223372036854775807]");
  is(amped_json_counts(NULL, 0), "[]");
  is(amped_json_count(UINT64_MAX), "1.8446744073709552e19");
  is(amped_json_numbers(values, 3), "[0.5,null,null]");
}

START_TEST(strings) {
  is(amped_json_string("a b"), "\"a b\"");
  is(amped_json_string(""), "\"\"");
  is(amped_json_string(NULL), "null");
}

START_TEST(labels_of_a_mode) {
  uint64_t offsets[] = {0, 1, 3};
  char bytes[] = "xyz";
  char name[] = "who";
  const amped_labels none = {.count = 0};
  const amped_labels two = {.count = 2, .name = name, .bytes = bytes, .offsets = offsets};
  is(amped_json_label(&none, 7), "null");
  is(amped_json_label(&two, 1), "\"yz\"");
  is(amped_json_mode_name(&none), "null");
  is(amped_json_mode_name(&two), "\"who\"");
}

START_TEST(counts_are_of_named_modes) {
  char user[] = "user";
  char place[] = "3";
  char text[AMPED_COUNTS_TEXT];
  const amped_labels labels[] = {{.name = user}, {.count = 0}, {.name = place}};
  const amped_count_words words = {
      .first = " have a new", .next = " a new", .unnamed = " index of"};
  const uint64_t some[] = {33, 0, 7};
  const uint64_t none[] = {0, 0, 0};
  const uint64_t all[] = {UINT64_MAX, 1, 0};
  ck_assert_str_eq(amped_format_counts(text, 3, labels, some, &words),
                   "33 have a new user, 7 a new index of mode 3 (3)");
  ck_assert_str_eq(amped_format_counts(text, 3, labels, none, &words), "");
  ck_assert_str_eq(amped_format_counts(text, 3, labels, all, &words),
                   "18446744073709551615 have a new user, 1 a new index of mode 2");
}

START_TEST(counts_of_long_names_fit) {
  char name[600];
  char text[AMPED_COUNTS_TEXT];
  amped_labels labels[AMPED_MAX_ORDER];
  uint64_t counts[AMPED_MAX_ORDER];
  const amped_count_words words = {
      .first = " have a new", .next = " a new", .unnamed = " index of"};
  memset(name, 'x', sizeof name);
  name[sizeof name - 1] = '\0';
  for (int m = 0; m < AMPED_MAX_ORDER; m++) {
    labels[m] = (amped_labels){.name = name};
    counts[m] = UINT64_MAX;
  }
  ck_assert_uint_lt(strlen(amped_format_counts(text, AMPED_MAX_ORDER, labels, counts, &words)),
                    AMPED_COUNTS_TEXT);
  char modes[AMPED_MODES_TEXT];
  ck_assert_uint_lt(strlen(amped_mode_names(modes, labels, AMPED_MAX_ORDER)), AMPED_MODES_TEXT);
}

START_TEST(modes_are_listed_by_name) {
  char user[] = "user";
  char week[] = "week";
  char text[AMPED_MODES_TEXT];
  const amped_labels labels[] = {{.name = user}, {.count = 0}, {.name = week}};
  ck_assert_str_eq(amped_mode_names(text, labels, 3), "its modes are user, week, or 1 to 3");
  ck_assert_str_eq(amped_mode_names(text, labels + 1, 1), "name modes, or number them from 1 to 1");
  ck_assert_str_eq(amped_mode_names(text, NULL, 3), "name modes, or number them from 1 to 3");
}

TESTING_MAIN("format", numbers, strings, labels_of_a_mode, counts_are_of_named_modes,
             counts_of_long_names_fit, modes_are_listed_by_name)
