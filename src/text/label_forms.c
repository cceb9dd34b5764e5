/* Label forms: keys of labels without accents, sorted. */
#include "text/label_forms.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/random.h"
#include "tensor/format.h"

/* The sign for an accented letter: a byte that UTF-8 does not have. */
#define ACCENTED 0xFF

typedef struct entry {
  uint64_t key;
  uint64_t index;
  bool marks; /* the label has combining marks */
} entry;

/* Lead bytes of U+0300 to U+036F, followed by a byte below 0xB0 if the lead byte is 0xCD. */
static bool is_mark(const unsigned char *p, const unsigned char *end) {
  return end - p >= 2 && (p[0] == 0xCC || (p[0] == 0xCD && p[1] < 0xB0));
}

/* Latin letters with accents: U+00C0 to U+024F, U+1E00 to U+1EFF. */
static bool is_accented(const unsigned char *p, const unsigned char *end) {
  return (end - p >= 2 && p[0] >= 0xC3 && p[0] <= 0xC9) ||
         (end - p >= 3 && p[0] == 0xE1 && p[1] >= 0xB8 && p[1] <= 0xBB);
}

/* Bytes of the character at p; 1 for bytes that are no UTF-8. */
static ptrdiff_t bytes_of(const unsigned char *p, const unsigned char *end) {
  const ptrdiff_t bytes = *p >= 0xF0 ? 4 : *p >= 0xE0 ? 3 : *p >= 0xC0 ? 2 : 1;
  return bytes < end - p ? bytes : end - p;
}

/* Set the key of label i. Returns false if the label has no accent. */
static bool make_key(const amped_labels *labels, uint64_t i, entry *out) {
  uint64_t length = 0;
  const unsigned char *p = (const unsigned char *)amped_label(labels, i, &length);
  const unsigned char *const end = p + length;
  bool any = false;
  *out = (entry){.index = i};
  while (p < end) {
    const ptrdiff_t bytes = bytes_of(p, end);
    const unsigned char *next = p + bytes;
    bool accented = is_accented(p, end);
    for (; is_mark(next, end); next += 2)
      accented = out->marks = true;
    if (accented)
      out->key = amped_mix64(out->key ^ ACCENTED);
    for (ptrdiff_t k = 0; k < bytes && !accented; k++)
      out->key = amped_mix64(out->key ^ p[k]);
    any = any || accented;
    p = next;
  }
  return any;
}

static int by_key(const void *left, const void *right) {
  const entry *a = left;
  const entry *b = right;
  if (a->key != b->key)
    return a->key < b->key ? -1 : 1;
  return a->index < b->index ? -1 : a->index > b->index;
}

/* Has the mode a label with combining marks? */
static bool has_marks(const amped_labels *labels) {
  const unsigned char *p = (const unsigned char *)labels->bytes;
  const unsigned char *const end = p + labels->offsets[labels->count];
  for (; p < end; p++)
    if (is_mark(p, end))
      return true;
  return false;
}

/* Count labels with combining marks whose key a label without any has, too. *first and *second: the
 * first two labels of such a key. */
static uint64_t count_twice(const entry *entries, uint64_t count, uint64_t *first,
                            uint64_t *second) {
  uint64_t twice = 0;
  for (uint64_t i = 0, end = 0; i < count; i = end) { /* entries of one key */
    uint64_t marks = 0;
    for (end = i; end < count && entries[end].key == entries[i].key; end++)
      marks += entries[end].marks;
    if (end - i < 2 || marks == 0 || marks == end - i)
      continue;
    if (twice == 0 || entries[i].index < *first) {
      *first = entries[i].index;
      *second = entries[i + 1].index;
    }
    twice += marks;
  }
  return twice;
}

amped_status amped_label_forms_warn(const char *where, int mode, const amped_labels *labels) {
  uint64_t count = 0;
  uint64_t first = 0;
  uint64_t second = 0;
  entry *entries = NULL;
  char name[128];
  char texts[2][256];
  if (labels->count == 0 || !has_marks(labels))
    return AMPED_OK;
  AMPED_TRY(amped_alloc(&entries, labels->count, sizeof *entries, "labels with accents"));
  for (uint64_t i = 0; i < labels->count; i++)
    count += make_key(labels, i, &entries[count]);
  qsort(entries, count, sizeof *entries, by_key);
  const uint64_t twice = count_twice(entries, count, &first, &second);
  if (twice > 0)
    amped_warn("%s: %" PRIu64 " label%s of %s may be another one in a second form of Unicode, and "
               "count%s as different; the first are %s and %s; bring the file to one form (uconv "
               "-x nfc) if they are the same",
               where, twice, twice == 1 ? "" : "s",
               amped_format_mode(name, sizeof name, mode, labels), twice == 1 ? "s" : "",
               amped_label_text(labels, first, texts[0], sizeof texts[0]),
               amped_label_text(labels, second, texts[1], sizeof texts[1]));
  amped_free(entries);
  return AMPED_OK;
}
