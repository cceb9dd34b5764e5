/* Label forms: keys of labels without accents, or without what is not seen, sorted. */
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
  bool marks; /* the label has combining marks, or characters that are not seen */
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

/* Bytes of a character that is not seen: soft hyphen, zero-width and joining ones, byte-order mark;
 * 0: another character. */
static ptrdiff_t is_unseen(const unsigned char *p, const unsigned char *end) {
  const bool wide = end - p >= 3;
  if (end - p >= 2 && p[0] == 0xC2 && p[1] == 0xAD)
    return 2;
  return wide && ((p[0] == 0xE2 && p[1] == 0x80 && p[2] >= 0x8B && p[2] <= 0x8F) ||
                  (p[0] == 0xE2 && p[1] == 0x81 && p[2] == 0xA0) ||
                  (p[0] == 0xEF && p[1] == 0xBB && p[2] == 0xBF))
             ? 3
             : 0;
}

/* Bytes of a space other than a blank: no-break ones; 0: another character. */
static ptrdiff_t is_hard_space(const unsigned char *p, const unsigned char *end) {
  if (end - p >= 2 && p[0] == 0xC2 && p[1] == 0xA0)
    return 2;
  return end - p >= 3 && p[0] == 0xE2 && p[1] == 0x80 && p[2] == 0xAF ? 3 : 0;
}

/* Set the key of label i: spaces of all kinds are alike, and none count at the ends. */
static bool make_seen_key(const amped_labels *labels, uint64_t i, entry *out) {
  uint64_t length = 0;
  const unsigned char *p = (const unsigned char *)amped_label(labels, i, &length);
  const unsigned char *const end = p + length;
  bool begun = false;
  bool space = false;
  *out = (entry){.index = i};
  while (p < end) {
    const ptrdiff_t unseen = is_unseen(p, end);
    const ptrdiff_t hard = is_hard_space(p, end);
    const bool is_space = hard > 0 || *p == ' ';
    out->marks = out->marks || unseen + hard > 0;
    if (unseen == 0 && !is_space) {
      if (space && begun)
        out->key = amped_mix64(out->key ^ ' ');
      out->key = amped_mix64(out->key ^ *p);
      begun = true;
      space = false;
    }
    space = space || is_space;
    p += unseen + hard > 0 ? unseen + hard : 1;
  }
  return true;
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

/* A way in which labels look alike. */
typedef struct way {
  ptrdiff_t (*find)(const unsigned char *p, const unsigned char *end); /* 0: not at p */
  bool (*make_key)(const amped_labels *labels, uint64_t i, entry *out);
  const char *words; /* the middle of the warning */
  const char *remedy;
} way;

static ptrdiff_t find_mark(const unsigned char *p, const unsigned char *end) {
  return is_mark(p, end) ? 2 : 0;
}

static ptrdiff_t find_unseen(const unsigned char *p, const unsigned char *end) {
  return is_unseen(p, end) + is_hard_space(p, end);
}

static const way ways[] = {
    {.find = find_mark,
     .make_key = make_key,
     .words = "may be another one in a second form of Unicode",
     .remedy = "bring the file to one form (uconv -x nfc) if they are the same"},
    {.find = find_unseen,
     .make_key = make_seen_key,
     .words = "may be another one with spaces or signs that are not seen (no-break or zero-width)",
     .remedy = "remove these characters if they are the same"},
};

/* Has the mode a label with what this way looks for? */
static bool is_there(const amped_labels *labels, const way *w) {
  const unsigned char *p = (const unsigned char *)labels->bytes;
  const unsigned char *const end = p + labels->offsets[labels->count];
  for (; p < end; p++)
    if (*p >= 0x80 && w->find(p, end) > 0)
      return true;
  return false;
}

/* Count labels with marks whose key a label without any has, too. *first and *second: the
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

static amped_status warn(const char *where, int mode, const amped_labels *labels, const way *w) {
  uint64_t count = 0;
  uint64_t first = 0;
  uint64_t second = 0;
  entry *entries = NULL;
  char name[128];
  char texts[2][256];
  AMPED_TRY(amped_alloc(&entries, labels->count, sizeof *entries, "labels that look alike"));
  for (uint64_t i = 0; i < labels->count; i++)
    count += w->make_key(labels, i, &entries[count]);
  qsort(entries, count, sizeof *entries, by_key);
  const uint64_t twice = count_twice(entries, count, &first, &second);
  if (twice > 0)
    amped_warn("%s: %" PRIu64 " label%s of %s %s, and count%s as different; the first are %s and "
               "%s; %s",
               where, twice, twice == 1 ? "" : "s",
               amped_format_mode(name, sizeof name, mode, labels), w->words, twice == 1 ? "s" : "",
               amped_label_text(labels, first, texts[0], sizeof texts[0]),
               amped_label_text(labels, second, texts[1], sizeof texts[1]), w->remedy);
  amped_free(entries);
  return AMPED_OK;
}

amped_status amped_label_forms_warn(const char *where, int mode, const amped_labels *labels) {
  for (size_t i = 0; i < sizeof ways / sizeof ways[0] && labels->count > 0; i++)
    if (is_there(labels, &ways[i]))
      AMPED_TRY(warn(where, mode, labels, &ways[i]));
  return AMPED_OK;
}
