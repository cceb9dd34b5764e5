/* Label join: finds shared labels of two modes with a hash table. */
#include "text/label_join.h"

#include <string.h>

#include "base/mem.h"
#include "text/intern.h"

/* Number all labels; *distinct: every label got the number of its index. */
static amped_status number(const amped_labels *labels, amped_intern *in, bool *distinct) {
  for (uint64_t i = 0; i < labels->count; i++) {
    uint64_t length = 0, id = 0;
    const char *text = amped_label(labels, i, &length);
    AMPED_TRY(amped_intern_add(in, amped_intern_hash(text, length), text, length, &id));
  }
  *distinct = in->count == labels->count;
  return AMPED_OK;
}

static amped_status are_distinct(const amped_labels *labels, bool *distinct) {
  amped_intern in = {0};
  amped_status status = number(labels, &in, distinct);
  amped_intern_free(&in);
  return status;
}

/* from_zero: b counts indices from 0; labels of a that are indices are looked up so. */
static amped_status find_rows(const amped_labels *a, const amped_intern *b, bool from_zero,
                              amped_label_join *out) {
  AMPED_TRY(amped_alloc(&out->rows, a->count, sizeof *out->rows, "the shared labels"));
  for (uint64_t i = 0; i < a->count; i++) {
    char buffer[AMPED_LABEL_DIGITS];
    const char *text = NULL;
    const uint64_t length = amped_label_as_counted(a, i, from_zero, buffer, &text);
    uint64_t id = amped_intern_find(b, amped_intern_hash(text, length), text, length);
    out->rows[i] = id == AMPED_INTERN_NONE ? AMPED_MATCH_NO_ROW : id;
    out->shared += id != AMPED_INTERN_NONE;
  }
  return AMPED_OK;
}

amped_status amped_label_join_find(const amped_labels *a, const amped_labels *b,
                                   amped_label_join *out) {
  amped_intern in = {0};
  bool distinct_a = false, distinct_b = false;
  *out = (amped_label_join){NULL, 0};
  amped_status status = AMPED_OK;
  AMPED_GO(done, are_distinct(a, &distinct_a));
  AMPED_GO(done, number(b, &in, &distinct_b));
  if (distinct_a && distinct_b)
    status = find_rows(a, &in, b->are_indices ? b->from_zero : a->from_zero, out);
done:
  amped_intern_free(&in);
  return status;
}
