/* Parses ranges of characters, and replaces characters without font. */
#include "cli/plot/plot_fonts.h"

#include <stdbool.h>
#include <string.h>

#include "base/mem.h"

/* First character beyond Latin, Greek and Cyrillic letters; punctuation such as a typographic
 * apostrophe, which fonts of these letters have. */
#define LETTERS_END 0x530
#define PUNCTUATION 0x2010
#define PUNCTUATION_END 0x2040

static int digit(char c) {
  if (c >= '0' && c <= '9')
    return c - '0';
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Read a number; *at moves behind it. Returns false if there is none. */
static bool read_number(const char *text, uint64_t length, uint64_t *at, uint32_t *out) {
  const uint64_t begin = *at;
  *out = 0;
  while (*at < length && *at - begin < 7 && digit(text[*at]) >= 0)
    *out = 16 * *out + (uint32_t)digit(text[(*at)++]);
  return *at > begin;
}

amped_status amped_plot_fonts_parse(const char *text, uint64_t length, amped_plot_fonts *fonts) {
  uint64_t room = 0;
  for (uint64_t at = 0; at < length;) {
    uint32_t first = 0;
    if (!read_number(text, length, &at, &first)) {
      at++;
      continue;
    }
    uint32_t last = first;
    if (at < length && text[at] == '-') {
      at++;
      (void)read_number(text, length, &at, &last);
    }
    if (fonts->count == room) {
      room = 2 * room + 256;
      AMPED_TRY(amped_realloc(&fonts->ranges, 2 * room, sizeof *fonts->ranges, "fonts"));
    }
    fonts->ranges[2 * fonts->count] = first;
    fonts->ranges[2 * fonts->count + 1] = last;
    fonts->count++;
  }
  return AMPED_OK;
}

static bool has(const amped_plot_fonts *fonts, uint32_t c) {
  bool found = fonts->count == 0 && (c < LETTERS_END || (c >= PUNCTUATION && c < PUNCTUATION_END));
  for (uint64_t i = 0; i < fonts->count && !found; i++)
    found = c >= fonts->ranges[2 * i] && c <= fonts->ranges[2 * i + 1];
  return found;
}

/* Bytes of the character that begins with this byte. */
static uint64_t bytes_of(unsigned char c) {
  return c < 0xc0 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
}

/* The number of a character of `bytes` bytes. */
static uint32_t number_of(const char *text, uint64_t bytes) {
  uint32_t c = (unsigned char)text[0] & (0xffu >> (bytes + 1));
  for (uint64_t i = 1; i < bytes; i++)
    c = c << 6 | ((unsigned char)text[i] & 0x3f);
  return c;
}

uint64_t amped_plot_fonts_replace(const amped_plot_fonts *fonts, char *text, uint64_t *length,
                                  uint32_t *first) {
  uint64_t replaced = 0;
  uint64_t to = 0;
  *first = 0;
  for (uint64_t at = 0; at < *length;) {
    const uint64_t bytes = bytes_of((unsigned char)text[at]);
    const uint64_t n = bytes <= *length - at ? bytes : 1;
    const uint32_t c = n > 1 ? number_of(text + at, n) : 0;
    if (n == 1 || has(fonts, c)) {
      memmove(text + to, text + at, n);
      to += n;
    } else {
      *first = replaced == 0 ? c : *first;
      text[to++] = '?';
      replaced++;
    }
    at += n;
  }
  *length = to;
  return replaced;
}
