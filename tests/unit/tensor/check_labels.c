/* Labels: keys, by which indices are recognised in any order of a file. */
#include <string.h>

#include "base/mem.h"
#include "tensor/labels.h"
#include "tests/lib/testing.h"

/* Labels of these texts, borrowed. */
static amped_labels labels_of(uint64_t count, const char *const *texts) {
  static char bytes[256];
  static uint64_t offsets[16];
  amped_labels labels = {.count = count, .bytes = bytes, .offsets = offsets};
  ck_assert_uint_lt(count, 16);
  for (uint64_t i = 0; i < count; i++) {
    const uint64_t length = strlen(texts[i]);
    ck_assert_uint_lt(offsets[i] + length, sizeof bytes);
    memcpy(bytes + offsets[i], texts[i], length);
    offsets[i + 1] = offsets[i] + length;
  }
  return labels;
}

START_TEST(a_key_belongs_to_the_label) {
  static const char *const texts[] = {"anna", "ben", "", "7", "0x7", "007", "anna "};
  static const char *const turned[] = {"007", "anna ", "0x7", "anna", "7", "", "ben"};
  enum { COUNT = sizeof texts / sizeof texts[0] };
  uint64_t keys[COUNT];
  const amped_labels labels = labels_of(COUNT, texts);
  for (uint64_t i = 0; i < COUNT; i++) {
    keys[i] = amped_label_key(&labels, i);
    ck_assert_uint_le(keys[i], UINT32_MAX);
    for (uint64_t k = 0; k < i; k++)
      ck_assert_uint_ne(keys[i], keys[k]);
  }
  const amped_labels others = labels_of(COUNT, turned);
  for (uint64_t i = 0; i < COUNT; i++)
    for (uint64_t k = 0; k < COUNT; k++)
      if (strcmp(turned[i], texts[k]) == 0)
        ck_assert_uint_eq(amped_label_key(&others, i), keys[k]);
}

/* The same cells have the same keys with all indices, and with the used ones alone. */
START_TEST(a_key_of_an_index_is_the_index) {
  static const char *const texts[] = {"1", "5", "4294967296", "4294967297", "99999999999"};
  amped_labels labels = labels_of(5, texts);
  const amped_labels none = {.count = 0};
  const amped_labels from_zero = {.count = 0, .from_zero = true};
  for (uint64_t i = 0; i < 9; i++) {
    ck_assert_uint_eq(amped_label_key(&none, i), i);
    ck_assert_uint_eq(amped_label_key(&from_zero, i), i);
  }
  labels.are_indices = true;
  ck_assert_uint_eq(amped_label_key(&labels, 0), 0);
  ck_assert_uint_eq(amped_label_key(&labels, 1), 4);
  ck_assert_uint_eq(amped_label_key(&labels, 2), UINT32_MAX);
  ck_assert_uint_le(amped_label_key(&labels, 3), UINT32_MAX); /* a hash */
  ck_assert_uint_le(amped_label_key(&labels, 4), UINT32_MAX);
  labels.from_zero = true;
  ck_assert_uint_eq(amped_label_key(&labels, 0), 1);
  ck_assert_uint_eq(amped_label_key(&labels, 1), 5);
}

TESTING_MAIN("labels", a_key_belongs_to_the_label, a_key_of_an_index_is_the_index)
