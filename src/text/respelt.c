/* Respelt labels: comparison of plain forms. */
#include "text/respelt.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/printable.h"

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
    amped_warn(
        "%s: %" PRIu64 " label%s of column %s %s a whole number that another label writes "
        "otherwise, such as %s and %s, which are two labels; write them alike (pandas writes "
        "7.0 if a column has gaps: astype(\"Int64\"); and 7 for 007: dtype=str)",
        name, count, count == 1 ? "" : "s", amped_printable_text(printed, sizeof printed, column),
        count == 1 ? "is" : "are", amped_label_text(&all, pair[0], text[0], sizeof text[0]),
        amped_label_text(&all, pair[1], text[1], sizeof text[1]));
}
