/* Join of labels: every label of one mode finds its index in another, or none. */
#include <string.h>

#include "tests/lib/testing.h"
#include "text/label_join.h"

/* Labels out of words; their memory is the caller's. */
typedef struct sample {
  char bytes[64];
  uint64_t offsets[8];
  amped_labels labels;
} sample;

static const amped_labels *make(sample *s, int count, const char *const *words) {
  uint64_t used = 0;
  for (int i = 0; i < count; i++) {
    s->offsets[i] = used;
    memcpy(s->bytes + used, words[i], strlen(words[i]));
    used += strlen(words[i]);
  }
  s->offsets[count] = used;
  s->labels = (amped_labels){.count = (uint64_t)count, .bytes = s->bytes, .offsets = s->offsets};
  return &s->labels;
}

START_TEST(labels_find_their_index) {
  static const char *const left[] = {"ann", "bob", "", "ann ", "eve"};
  static const char *const right[] = {"eve", "dan", "ann", ""};
  static const uint64_t rows[] = {2, AMPED_MATCH_NO_ROW, 3, AMPED_MATCH_NO_ROW, 0};
  sample a, b;
  amped_label_join join;
  check_ok(amped_label_join_find(make(&a, 5, left), make(&b, 4, right), &join));
  ck_assert_uint_eq(join.shared, 3);
  for (int i = 0; i < 5; i++)
    ck_assert_uint_eq(join.rows[i], rows[i]);
  amped_free(join.rows);
  check_no_leak();
}

START_TEST(labels_that_repeat_join_nothing) {
  static const char *const twice[] = {"ann", "bob", "ann"};
  static const char *const once[] = {"ann", "bob", "eve"};
  sample a, b;
  amped_label_join join;
  check_ok(amped_label_join_find(make(&a, 3, twice), make(&b, 3, once), &join));
  ck_assert(join.rows == NULL && join.shared == 0);
  check_ok(amped_label_join_find(make(&a, 3, once), make(&b, 3, twice), &join));
  ck_assert(join.rows == NULL && join.shared == 0);
  check_no_leak();
}

START_TEST(failing_memory_leaves_nothing) {
  static const char *const words[] = {"ann", "bob", "eve"};
  sample a, b;
  amped_label_join join;
  amped_status status = AMPED_FAILED;
  make(&a, 3, words);
  make(&b, 3, words);
  for (int64_t k = 0; status != AMPED_OK; k++) {
    ck_assert_int_le(k, 100);
    amped_mem_fail_at(k);
    status = amped_label_join_find(&a.labels, &b.labels, &join);
    amped_mem_fail_at(-1);
    amped_status_clear();
    if (status != AMPED_OK)
      check_no_leak();
  }
  amped_free(join.rows);
  check_no_leak();
}

TESTING_MAIN("label_join", labels_find_their_index, labels_that_repeat_join_nothing,
             failing_memory_leaves_nothing)
