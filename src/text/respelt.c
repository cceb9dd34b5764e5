/* Respelt labels: comparison of plain forms, and of values of dates and times. */
#include "text/respelt.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/printable.h"
#include "tensor/label_order.h"

/* Longest label that is compared; whole numbers are shorter. */
#define MOST 64

static bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

uint64_t amped_respelt_plain(const char *text, uint64_t length, const char **plain) {
  uint64_t first = 0;
  uint64_t end = 0;
  while (end < length && is_digit(text[end]))
    end++;
  uint64_t rest = end;
  if (rest < length && text[rest] == '.') {
    rest++;
    while (rest < length && text[rest] == '0')
      rest++;
  }
  if (end == 0 || rest < length || rest == end + 1)
    return 0;
  while (first + 1 < end && text[first] == '0')
    first++;
  *plain = text + first;
  return end - first;
}

static uint64_t find(const amped_intern *labels, const char *text, uint64_t length) {
  return amped_intern_find(labels, amped_intern_hash(text, length), text, length);
}

uint64_t amped_respelt_find(const amped_intern *labels, const char *text, uint64_t length) {
  char longer[MOST + 2];
  const char *plain = NULL;
  const uint64_t count = length <= MOST ? amped_respelt_plain(text, length, &plain) : 0;
  uint64_t found = AMPED_INTERN_NONE;
  if (count == 0)
    return found;
  if (count < length)
    found = find(labels, plain, count);
  if (found != AMPED_INTERN_NONE || memchr(text, '.', length) != NULL)
    return found;
  memcpy(longer, text, length);
  memcpy(longer + length, ".0", 2);
  return find(labels, longer, length + 2);
}

amped_respelt amped_respelt_compare(const amped_labels *labels, const uint64_t *rows,
                                    uint64_t asked, const amped_intern *known) {
  amped_respelt r = {.asked = 0};
  for (uint64_t i = 0; i < labels->count; i++) {
    uint64_t length = 0;
    const char *label = amped_label(labels, i, &length);
    if (rows != NULL && rows[i] != asked)
      continue;
    r.asked++;
    const uint64_t other = amped_respelt_find(known, label, length);
    if (other == AMPED_INTERN_NONE || r.count++ > 0)
      continue;
    r.new_label = i;
    r.known_label = other;
  }
  return r;
}

bool amped_respelt_are_most(const amped_respelt *r) {
  return r->count > 0 && 2 * r->count >= r->asked;
}

static amped_labels view(const amped_intern *in) {
  return (amped_labels){.count = in->count, .bytes = in->bytes, .offsets = in->offsets};
}

void amped_respelt_warn(const amped_intern *labels, const char *name, const char *column) {
  const amped_labels all = view(labels);
  const char *plain = NULL;
  uint64_t count = 0;
  uint64_t pair[2] = {0, 0};
  char text[2][MOST + 1];
  char printed[128];
  for (uint64_t i = 0; i < all.count; i++) {
    uint64_t length = 0;
    const char *label = amped_label(&all, i, &length);
    const uint64_t short_length = amped_respelt_plain(label, length, &plain);
    if (short_length == 0)
      return;
    const uint64_t other =
        short_length < length ? amped_respelt_find(labels, label, length) : AMPED_INTERN_NONE;
    if (other == AMPED_INTERN_NONE)
      continue;
    if (count++ == 0) {
      pair[0] = other;
      pair[1] = i;
    }
  }
  if (count > 0)
    amped_warn("%s: %" PRIu64 " label%s of column %s %s a whole number that another label writes "
               "otherwise, such as %s and %s, which are two labels; " AMPED_RESPELT_REMEDY,
               name, count, count == 1 ? "" : "s",
               amped_printable_text(printed, sizeof printed, column), count == 1 ? "is" : "are",
               amped_label_text(&all, pair[0], text[0], sizeof text[0]),
               amped_label_text(&all, pair[1], text[1], sizeof text[1]));
}

/* A label and its value. */
typedef struct valued {
  double value;
  uint64_t number;
} valued;

static int by_value(const void *left, const void *right) {
  const valued *a = left;
  const valued *b = right;
  if (a->value != b->value)
    return a->value < b->value ? -1 : 1;
  return a->number < b->number ? -1 : a->number > b->number;
}

/* Count labels from `first` on that have the value of a label before them. pair: the first such
 * two. */
static amped_status count_alike(const amped_labels *labels, uint64_t first, uint64_t *count,
                                uint64_t pair[2]) {
  double *values = NULL;
  valued *sorted = NULL;
  amped_status status = amped_alloc(&values, labels->count, sizeof *values, "times");
  AMPED_GO(done, status);
  AMPED_GO(done, amped_alloc(&sorted, labels->count, sizeof *sorted, "times"));
  AMPED_GO(done, amped_label_values(labels, values));
  for (uint64_t i = 0; i < labels->count; i++)
    sorted[i] = (valued){.value = values[i], .number = i};
  qsort(sorted, labels->count, sizeof *sorted, by_value);
  for (uint64_t i = 1, begin = 0; i < labels->count; i++) {
    if (sorted[i].value > sorted[begin].value)
      begin = i;
    if (begin == i || sorted[i].number < first)
      continue;
    if (*count == 0 || sorted[i].number < pair[1]) {
      pair[0] = sorted[begin].number;
      pair[1] = sorted[i].number;
    }
    ++*count;
  }
done:
  amped_free(values);
  amped_free(sorted);
  return status;
}

amped_status amped_respelt_warn_times(const amped_labels *labels, uint64_t first, const char *name,
                                      const char *column) {
  const amped_label_kind kind = labels->count > 1 ? amped_label_kind_of(labels) : AMPED_LABELS_TEXT;
  uint64_t count = 0;
  uint64_t pair[2] = {0, 0};
  char text[2][MOST + 1];
  char printed[128];
  if (kind != AMPED_LABELS_DATES && kind != AMPED_LABELS_TIMES)
    return AMPED_OK;
  AMPED_TRY(count_alike(labels, first, &count, pair));
  if (count > 0)
    amped_warn("%s: %" PRIu64 " label%s of %s %s a date or a time that another label writes "
               "otherwise, such as %s and %s, which are two labels; write them alike",
               name, count, count == 1 ? "" : "s",
               amped_printable_text(printed, sizeof printed, column), count == 1 ? "is" : "are",
               amped_label_text(labels, pair[0], text[0], sizeof text[0]),
               amped_label_text(labels, pair[1], text[1], sizeof text[1]));
  return AMPED_OK;
}
