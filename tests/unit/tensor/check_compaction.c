/* Compaction: against a slow search, in pieces, and the labels that remain. */
#include "tensor/compaction.h"
#include "tests/lib/testing.h"

enum { order = 3, nnz = 500 };

/* Indices with gaps, some far apart. */
static void make_tensor(amped_sptensor *t) {
  check_ok(amped_sptensor_create(t, order, nnz));
  for (uint64_t k = 0; k < nnz; k++) {
    t->indices[0][k] = (amped_random_u64(1, 0, k) % 90) * UINT64_C(100000000000);
    t->indices[1][k] = amped_random_u64(1, 1, k) % 7;
    t->indices[2][k] = 3 * (amped_random_u64(1, 2, k) % 1000) + 1;
    t->values[k] = 1.0;
  }
  t->dims[0] = UINT64_C(1) << 50;
  t->dims[1] = 7;
  t->dims[2] = 5000;
}

/* Smaller indices that occur. */
static uint64_t rank_of(const amped_sptensor *t, int m, uint64_t index) {
  uint64_t below = 0;
  for (uint64_t k = 0; k < nnz; k++) {
    bool counted = t->indices[m][k] >= index;
    for (uint64_t j = 0; j < k && !counted; j++)
      counted = t->indices[m][j] == t->indices[m][k];
    below += !counted;
  }
  return below;
}

START_TEST(indices_lose_their_gaps) {
  amped_sptensor t, whole;
  amped_compaction c = {.count = {0}};
  make_tensor(&t);
  make_tensor(&whole);
  for (uint64_t first = 0; first < nnz; first += 100) { /* five pieces */
    amped_sptensor piece = {.order = order, .nnz = 100, .values = t.values + first};
    for (int m = 0; m < order; m++)
      piece.indices[m] = t.indices[m] + first;
    check_ok(amped_compaction_add(&c, &piece));
  }
  amped_compaction_apply(&c, &t);
  check_ok(amped_compaction_labels(&c, &t));
  check_ok(amped_sptensor_validate(&t, "compact"));
  for (int m = 0; m < order; m++)
    for (uint64_t k = 0; k < nnz; k++)
      ck_assert_uint_eq(t.indices[m][k], rank_of(&whole, m, whole.indices[m][k]));
  ck_assert_uint_eq(t.dims[1], 7);
  ck_assert_uint_eq(t.labels[1].count, 0);
  for (uint64_t k = 0; k < nnz; k++) {
    char text[32];
    char id[32];
    (void)snprintf(id, sizeof id, "%" PRIu64, whole.indices[0][k] + 1);
    ck_assert_str_eq(amped_label_text(&t.labels[0], t.indices[0][k], text, sizeof text), id);
  }
  amped_compaction_free(&c);
  amped_sptensor_free(&t);
  amped_sptensor_free(&whole);
  check_no_leak();
}

START_TEST(labels_stay_with_their_indices) {
  amped_sptensor t;
  amped_compaction c = {.count = {0}};
  uint64_t length = 0;
  check_ok(amped_sptensor_create(&t, order, 2));
  for (int m = 0; m < order; m++) {
    t.dims[m] = 4;
    t.indices[m][0] = 3;
    t.indices[m][1] = 1;
  }
  for (int m = 0; m < order; m++)
    t.labels[m].from_zero = true;
  check_ok(amped_alloc(&t.labels[0].bytes, 6, 1, "labels"));
  check_ok(amped_alloc(&t.labels[0].offsets, 5, sizeof(uint64_t), "labels"));
  memcpy(t.labels[0].bytes, "abbccc", 6);
  memcpy(t.labels[0].offsets, (const uint64_t[]){0, 1, 3, 3, 6}, 5 * sizeof(uint64_t));
  t.labels[0].count = 4;
  check_ok(amped_strdup(&t.labels[0].name, "name"));
  check_ok(amped_compaction_add(&c, &t));
  amped_compaction_apply(&c, &t);
  check_ok(amped_compaction_labels(&c, &t));
  ck_assert_uint_eq(t.labels[0].count, 2);
  ck_assert_str_eq(t.labels[0].name, "name");
  ck_assert_mem_eq(amped_label(&t.labels[0], 0, &length), "bb", 2);
  ck_assert_mem_eq(amped_label(&t.labels[0], 1, &length), "ccc", 3);
  ck_assert_mem_eq(amped_label(&t.labels[1], 1, &length), "3", 1); /* counted from 0 */
  amped_compaction_free(&c);
  amped_sptensor_free(&t);
  check_no_leak();
}

TESTING_MAIN("compaction", indices_lose_their_gaps, labels_stay_with_their_indices)
