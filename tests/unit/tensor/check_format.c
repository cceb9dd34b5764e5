/* Format: JSON values that have no text of their own, and lists of them. */
#include <math.h>

#include "tensor/format.h"
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

TESTING_MAIN("format", numbers, strings, labels_of_a_mode)
