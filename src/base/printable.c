/* Printable: UTF-8 decoding, and escapes for invisible characters and stray bytes. */
#include "base/printable.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* Ranges of escaped characters, ascending. The noncharacters U+nFFFE and U+nFFFF of all planes are
 * escaped, too. */
static const struct {
  uint32_t first, last;
} unseen[] = {
    {0x0000, 0x001F},   /* C0 */
    {0x007F, 0x009F},   /* DEL, C1 */
    {0x00AD, 0x00AD},   /* soft hyphen */
    {0x034F, 0x034F},   /* grapheme joiner */
    {0x061C, 0x061C},   /* Arabic letter mark */
    {0x115F, 0x1160},   /* Hangul fillers */
    {0x17B4, 0x17B5},   /* Khmer vowels that are not seen */
    {0x180B, 0x180F},   /* Mongolian selectors, vowel separator */
    {0x200B, 0x200F},   /* no width; marks of direction */
    {0x2028, 0x202E},   /* line and paragraph separators; embeddings and overrides */
    {0x2060, 0x206F},   /* word joiner, operators, isolates */
    {0x3164, 0x3164},   /* Hangul filler */
    {0xFDD0, 0xFDEF},   /* noncharacters */
    {0xFEFF, 0xFEFF},   /* byte order mark */
    {0xFFA0, 0xFFA0},   /* Hangul filler */
    {0xFFF0, 0xFFFB},   /* annotations */
    {0x1BCA0, 0x1BCA3}, /* controls of shorthand */
    {0x1D173, 0x1D17A}, /* controls of music */
    {0xE0000, 0xE0FFF}, /* tags, selectors */
};

static bool is_unseen(uint32_t c) {
  if ((c & 0xFFFE) == 0xFFFE)
    return true;
  for (size_t i = 0; i < sizeof unseen / sizeof unseen[0] && unseen[i].first <= c; i++)
    if (c <= unseen[i].last)
      return true;
  return false;
}

/* Bytes of the sequence that begins with c; 0: c begins none. */
static uint64_t sequence_bytes(unsigned char c) {
  return c < 0x80 ? 1 : c < 0xC2 ? 0 : c < 0xE0 ? 2 : c < 0xF0 ? 3 : c < 0xF5 ? 4 : 0;
}

/* Decodes the character at the beginning of the text, and returns its bytes; 0: the first byte
 * begins no sequence. Overlong forms, surrogates and numbers above U+10FFFF are no sequences. */
static uint64_t decode(const char *text, uint64_t length, uint32_t *out) {
  static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  const unsigned char first = (unsigned char)text[0];
  const uint64_t bytes = sequence_bytes(first);
  uint32_t c = bytes > 1 ? first & (0x7Fu >> bytes) : first;
  if (bytes == 0 || bytes > length)
    return 0;
  for (uint64_t i = 1; i < bytes; i++) {
    const unsigned char next = (unsigned char)text[i];
    if ((next & 0xC0) != 0x80)
      return 0;
    c = c << 6 | (next & 0x3Fu);
  }
  *out = c;
  return c < least[bytes] || c > 0x10FFFF || (c >= 0xD800 && c <= 0xDFFF) ? 0 : bytes;
}

uint64_t amped_printable_next(const char *text, uint64_t length, char unit[AMPED_PRINTABLE_UNIT]) {
  uint32_t c = 0;
  const uint64_t bytes = decode(text, length, &c);
  if (bytes == 0)
    (void)snprintf(unit, AMPED_PRINTABLE_UNIT, "\\x%02x", (unsigned char)text[0]);
  else if (!is_unseen(c)) {
    memcpy(unit, text, bytes);
    unit[bytes] = '\0';
  } else if (c < 0x10000)
    (void)snprintf(unit, AMPED_PRINTABLE_UNIT, "\\u%04x", c);
  else
    (void)snprintf(unit, AMPED_PRINTABLE_UNIT, "\\u%04x\\u%04x", (0xD7C0 + (c >> 10)) & 0xFFFF,
                   0xDC00 | (c & 0x3FF));
  return bytes > 0 ? bytes : 1;
}

const char *amped_printable(char *buffer, uint64_t size, const char *text, uint64_t length) {
  char unit[AMPED_PRINTABLE_UNIT];
  uint64_t used = 0;
  for (uint64_t at = 0; at < length;) {
    at += amped_printable_next(text + at, length - at, unit);
    const uint64_t bytes = strlen(unit);
    if (bytes >= size - used)
      break;
    memcpy(buffer + used, unit, bytes);
    used += bytes;
  }
  buffer[used] = '\0';
  return buffer;
}

const char *amped_printable_text(char *buffer, uint64_t size, const char *text) {
  return amped_printable(buffer, size, text, strlen(text));
}

int amped_printable_put(FILE *stream, const char *text, uint64_t length) {
  char unit[AMPED_PRINTABLE_UNIT];
  for (uint64_t at = 0; at < length;) {
    at += amped_printable_next(text + at, length - at, unit);
    if (fputs(unit, stream) == EOF)
      return EOF;
  }
  return 0;
}

uint64_t amped_printable_whole(const char *text, uint64_t length) {
  for (uint64_t back = 1; back <= 3 && back <= length; back++) {
    const unsigned char c = (unsigned char)text[length - back];
    if ((c & 0xC0) != 0x80)
      return sequence_bytes(c) > back ? length - back : length;
  }
  return length;
}
